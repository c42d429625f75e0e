import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { systemClock } from '../../support/clock.ts';
import { decodeFetchedRecord } from './kafkajs-record.ts';
import { SHOULD_REAUTHENTICATE, shouldReauthenticate } from './login/reauthentication.ts';
import { ERRORS_OF, namingTopics, type Protocol } from './named-topics.ts';
import { type CreateFetchManager, stoppedForGood } from './patches/ended-fetches.ts';
import { type ConsumerGroupClass, withFetchWaits } from './patches/fetch-waits.ts';
import { type FindCoordinator, knowingBrokers } from './patches/first-coordinator.ts';
import { PATCHED_FUNCTIONS, verifySource } from './patches/patched-functions.ts';
import { type RequestQueue, watchedWhileSent } from './patches/request-timeouts.ts';
import { type CreateRequest, framedInPlace } from './produce/request-frame.ts';
import { type SendingParts, sendOnce } from './produce/send-messages.ts';
import { askingForLast, type CreateProducer } from './transactions/writer-producer.ts';

/*
 * kafkajs 2.2.4 is the last release of an unmaintained client. Some of its functions lose data, repeat it, waste CPU or
 * fail without need. They are replaced before kafkajs is used. Each replacement was written for one exact source text;
 * with any other text its effect is unknown, so loading fails.
 */

type Kafkajs = typeof import('kafkajs');

/** One fetched record inside kafkajs. Offsets and producer ids are int64 as decimal text. */
export interface RawMessage {
  readonly offset: string;
  readonly key: Buffer | null;
  readonly isControlRecord: boolean;
  readonly batchContext: { readonly producerId: string; readonly inTransaction: boolean };
}

interface AbortedTransaction {
  readonly producerId: string;
  readonly firstOffset: string;
}

interface RecordBatch {
  readonly firstOffset: string;
  readonly lastOffsetDelta: number;
  readonly maxTimestamp: string;
  readonly producerId: string;
  readonly inTransaction: boolean;
  readonly records: RawMessage[];
}

interface PendingRequests {
  readonly pending: readonly unknown[];
}

/** The parts of a request for metadata; without topics it asks for all topics. */
type MetadataProtocol = (of: { readonly version: number }) => (asked: { readonly topics: readonly string[] }) => {
  readonly request: unknown;
  readonly response: { readonly parse: (data: unknown) => Promise<unknown> };
};

type FilterAborted = (fetched: {
  messages: readonly RawMessage[];
  abortedTransactions?: readonly AbortedTransaction[];
}) => readonly RawMessage[];
type DecodeBatch = (decoder: unknown) => Promise<RecordBatch>;
interface ProduceResponse {
  readonly decode: SendingParts['decodeResponse'];
}
interface ProtocolErrors {
  readonly createErrorFromCode: SendingParts['errorFromCode'];
}
type ScheduleCheck = (this: PendingRequests) => void;
interface RequestQueuePrototype {
  scheduleCheckPendingRequests: ScheduleCheck;
  scheduleRequestTimeoutCheck: () => void;
  sendSocketRequest: (this: RequestQueue, request: unknown) => void;
}

const ADD_PARTITIONS_TO_TXN = 'src/protocol/requests/addPartitionsToTxn/index.js';
const TXN_OFFSET_COMMIT = 'src/protocol/requests/txnOffsetCommit/index.js';
const PRODUCE_RESPONSE = 'src/protocol/requests/produce/v7/response.js';
const PROTOCOL_ERRORS = 'src/protocol/error.js';
const ABORT_MARKER_KEY = Buffer.from([0, 0, 0, 0]);

/** Patch A: an empty queue needs no check; the original wakes up every millisecond. Exported for tests. */
export function scheduleOnlyWhenPending(original: ScheduleCheck): ScheduleCheck {
  return function scheduleCheckPendingRequests() {
    if (this.pending.length > 0) original.call(this);
  };
}

/**
 * Patch B: compaction can remove the last records of a batch, or all of them, and keep the batch. A consumer that sees
 * no record at these offsets stays before them for ever, so the batch's end becomes a control record, which moves
 * the consumer's offset and reaches no handler.
 */
function markBatchEnd(original: DecodeBatch): DecodeBatch {
  return async function decodeRecordBatch(decoder) {
    const batch = await original(decoder);
    const end = String(BigInt(batch.firstOffset) + BigInt(batch.lastOffsetDelta));
    if (batch.records.at(-1)?.offset === end) return batch;
    const { records, ...batchContext } = batch;
    const marker = { magicByte: 2, attributes: 0, timestamp: batch.maxTimestamp, key: null, value: null, headers: {} };
    records.push({ ...marker, offset: end, isControlRecord: true, batchContext } as RawMessage);
    return batch;
  };
}

/**
 * Patch C: the original starts at most one aborted transaction per record, in the broker's order, which is that of the
 * transactions' *ends*; and it takes a key of four zero bytes for an abort marker. Both let aborted records through.
 */
export const withoutAborted: FilterAborted = ({ messages, abortedTransactions }) => {
  if (!abortedTransactions?.length) return messages;
  const toBegin = abortedTransactions
    .map(({ producerId, firstOffset }) => ({ producerId, firstOffset: BigInt(firstOffset) }))
    .sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1));
  const aborting = new Set<string>();
  let next = 0;
  return messages.filter((message) => {
    const offset = BigInt(message.offset);
    for (let begin = toBegin[next]; begin && begin.firstOffset <= offset; begin = toBegin[++next]) {
      aborting.add(begin.producerId);
    }
    const { producerId, inTransaction } = message.batchContext;
    if (message.isControlRecord) {
      if (message.key && ABORT_MARKER_KEY.equals(message.key)) aborting.delete(producerId);
      return true;
    }
    return !(inTransaction && aborting.has(producerId));
  });
};

/**
 * Patch D: a new producer, and most functions of an admin client, ask for all topics of the cluster, and the original
 * fails for the error of any partition. So one partition without a leader, of any topic and owner (without replicas, its
 * broker down), kept every writer from opening. Here a request for all topics gets all, with or without leaders.
 */
function allWithoutErrors(original: MetadataProtocol): MetadataProtocol {
  return (of) => (asked) => {
    const { request, response } = original(of)(asked);
    if (asked.topics.length > 0) return { request, response };
    return { request, response: { ...response, parse: async (data) => data } };
  };
}

/*
 * Patch E: `sendMessages` retries by broker and can double a record; it also takes ten times the CPU that it needs.
 * The replacement sends once, and its requests are framed in place (patch F); see produce/send-messages.ts.
 * Patch G: a refusal names its topics; see named-topics.ts.
 * Patch H: of a fetched record, only what is looked at is read; see kafkajs-record.ts.
 * Patch I: connections are looked at for late responses only while they wait for one; see patches/request-timeouts.ts.
 * Patch J: short sessions of a login; see login/reauthentication.ts.
 * Patch K: a member's fetches wait as long as its group asks for; see patches/fetch-waits.ts.
 * Patch L: a producer can ask for its last transaction; see transactions/writer-producer.ts.
 * Patch M: a member that has left fetches no more; see patches/ended-fetches.ts.
 * Patch N: the first question for a coordinator does not wait; see patches/first-coordinator.ts.
 */

/**
 * kafkajs with its patches. When kafkajs was loaded before, it is loaded again as a separate instance, because its
 * modules already hold the unpatched functions.
 *
 * @throws Error when a function to be patched is not the one that its patch was written for.
 */
export function loadKafkajs(): Kafkajs {
  const require = createRequire(import.meta.url);
  const root = dirname(require.resolve('kafkajs/package.json'));
  const paths = {
    queue: join(root, PATCHED_FUNCTIONS.scheduleCheckPendingRequests.module),
    decoder: join(root, PATCHED_FUNCTIONS.decodeRecordBatch.module),
    record: join(root, PATCHED_FUNCTIONS.decodeRecord.module),
    filter: join(root, PATCHED_FUNCTIONS.filterAbortedMessages.module),
    metadata: join(root, PATCHED_FUNCTIONS.metadataProtocol.module),
    send: join(root, PATCHED_FUNCTIONS.createSendMessages.module),
    request: join(root, PATCHED_FUNCTIONS.createRequest.module),
    connection: join(root, PATCHED_FUNCTIONS.shouldReauthenticate.module),
    producer: join(root, PATCHED_FUNCTIONS.createProducer.module),
  };
  const loaded: unknown = require.cache[paths.filter]?.exports;
  if (loaded !== withoutAborted) {
    for (const path of Object.keys(require.cache)) if (path.startsWith(root + sep)) delete require.cache[path];
    verifySource('decodeRecord', require(paths.record));
    // Before the one that takes it.
    replaceExports(require, paths.record, decodeFetchedRecord);
    const { prototype: queue }: { prototype: RequestQueuePrototype } = require(paths.queue);
    const { scheduleCheckPendingRequests: schedule, sendSocketRequest: send } = queue;
    const decode: DecodeBatch = require(paths.decoder);
    const metadata: { protocol: MetadataProtocol } = require(paths.metadata);
    verifySource('scheduleCheckPendingRequests', schedule);
    verifySource('scheduleRequestTimeoutCheck', queue.scheduleRequestTimeoutCheck);
    verifySource('sendSocketRequest', send);
    verifySource('decodeRecordBatch', decode);
    verifySource('filterAbortedMessages', require(paths.filter));
    verifySource('metadataProtocol', metadata.protocol);
    const request: CreateRequest = require(paths.request);
    verifySource('createSendMessages', require(paths.send));
    verifySource('createRequest', request);
    const { decode: decodeResponse }: ProduceResponse = require(join(root, PRODUCE_RESPONSE));
    const { createErrorFromCode: errorFromCode }: ProtocolErrors = require(join(root, PROTOCOL_ERRORS));
    const parses = ['parseMetadata', 'parseAddPartitionsToTxn', 'parseTxnOffsetCommit'] as const;
    for (const name of parses) verifySource(name, require(join(root, PATCHED_FUNCTIONS[name].module)).parse);
    queue.scheduleCheckPendingRequests = scheduleOnlyWhenPending(schedule);
    queue.scheduleRequestTimeoutCheck = () => {};
    queue.sendSocketRequest = watchedWhileSent(send, systemClock);
    const all: Protocol = allWithoutErrors(metadata.protocol);
    Object.assign(metadata, { protocol: namingTopics(all, { errorsOf: ERRORS_OF.metadata, errorFromCode }) });
    for (const [path, errorsOf] of [
      [ADD_PARTITIONS_TO_TXN, ERRORS_OF.addPartitionsToTxn],
      [TXN_OFFSET_COMMIT, ERRORS_OF.txnOffsetCommit],
    ] as const) {
      const requests: { protocol: Protocol } = require(join(root, path));
      requests.protocol = namingTopics(requests.protocol, { errorsOf, errorFromCode });
    }
    replaceExports(require, paths.decoder, markBatchEnd(decode));
    replaceExports(require, paths.filter, withoutAborted);
    replaceExports(require, paths.send, sendOnce({ clock: systemClock, decodeResponse, errorFromCode }));
    replaceExports(require, paths.request, framedInPlace(request));
    // After the others: it holds on to the functions that it finds when it is loaded.
    patchReauthentication(require(paths.connection));
    // After those that they take.
    const producer: CreateProducer = require(paths.producer);
    verifySource('createProducer', producer);
    replaceExports(require, paths.producer, askingForLast(producer, { clock: systemClock, errorFromCode }));
    patchMembers(require, (name) => join(root, PATCHED_FUNCTIONS[name].module));
  }
  return require('kafkajs');
}

/** What members of groups do, and how they and producers find their coordinator. */
function patchMembers(require: NodeJS.Require, pathOf: (name: keyof typeof PATCHED_FUNCTIONS) => string): void {
  const group: ConsumerGroupClass = require(pathOf('consumerGroup'));
  verifySource('consumerGroup', group);
  replaceExports(require, pathOf('consumerGroup'), withFetchWaits(group));
  const fetchManager: CreateFetchManager = require(pathOf('createFetchManager'));
  verifySource('createFetchManager', fetchManager);
  replaceExports(require, pathOf('createFetchManager'), stoppedForGood(fetchManager));
  const { prototype: cluster }: { prototype: { findGroupCoordinator: FindCoordinator } } = require(
    pathOf('findGroupCoordinator'),
  );
  verifySource('findGroupCoordinator', cluster.findGroupCoordinator);
  cluster.findGroupCoordinator = knowingBrokers(cluster.findGroupCoordinator);
}

function patchReauthentication({ prototype }: { readonly prototype: object }): void {
  const symbol = Object.getOwnPropertySymbols(prototype).find(
    ({ description }) => description === SHOULD_REAUTHENTICATE,
  );
  const original: unknown = symbol && Reflect.get(prototype, symbol);
  verifySource('shouldReauthenticate', original);
  if (symbol) Reflect.set(prototype, symbol, shouldReauthenticate);
}

function replaceExports(require: NodeJS.Require, path: string, replacement: unknown): void {
  const module = require.cache[path];
  if (module === undefined) throw new Error(`kafkajs did not load ${path}, so it cannot be patched`);
  module.exports = replacement;
}
