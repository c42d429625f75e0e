import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { systemClock } from '../../support/clock.ts';
import { decodeFetchedRecord } from './kafkajs-record.ts';
import { SHOULD_REAUTHENTICATE, shouldReauthenticate } from './login/reauthentication.ts';
import { ERRORS_OF, namingTopics, type Protocol } from './named-topics.ts';
import { type ConsumerGroupClass, withFetchWaits } from './patches/fetch-waits.ts';
import { type RequestQueue, watchedWhileSent } from './patches/request-timeouts.ts';
import { type CreateRequest, framedInPlace } from './produce/request-frame.ts';
import { type SendingParts, sendOnce } from './produce/send-messages.ts';

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

/** A patched function: its module inside kafkajs, and the SHA-256 of its source text in 2.2.4. Exported for tests. */
export const PATCHED_FUNCTIONS = {
  scheduleCheckPendingRequests: {
    module: 'src/network/requestQueue/index.js',
    sourceSha256: '04347ea969c6f2e3754427c0cbaee0bd4ce947fbd82f7b6e027506a06dfc581a',
  },
  scheduleRequestTimeoutCheck: {
    module: 'src/network/requestQueue/index.js',
    sourceSha256: '4fa2b60aa0fe28a4fefc028706b8de18cdafc88916fae651d8cc5d359cc4553a',
  },
  sendSocketRequest: {
    module: 'src/network/requestQueue/index.js',
    sourceSha256: '512807ba10f008597cc500bf1255ede4cff0d6336f68dc5565d238a9c656e3ab',
  },
  decodeRecordBatch: {
    module: 'src/protocol/recordBatch/v0/decoder.js',
    sourceSha256: '77acebbb995191c1896488c8cbc61581969f98f07339dd50e8bb7c720f939f87',
  },
  decodeRecord: {
    module: 'src/protocol/recordBatch/record/v0/decoder.js',
    sourceSha256: 'fbe3525528b41bced97fb4ab8a5669fcdc18b56179a1e565690feae7b5f80ac7',
  },
  filterAbortedMessages: {
    module: 'src/consumer/filterAbortedMessages.js',
    sourceSha256: '59acdacae7d98f7fb842b22c6f6a79e459d0dd1efef9905da1c2ec459ddafdfe',
  },
  consumerGroup: {
    module: 'src/consumer/consumerGroup.js',
    sourceSha256: '5a90070d31e7e13b73623fabc1ba431a7c2a12ed86c3aabf119d3ad6c1cf4ff8',
  },
  metadataProtocol: {
    module: 'src/protocol/requests/metadata/index.js',
    sourceSha256: '32529e32a3c135dfba608a4e37fd60a27a7b5d38621b1986ae571a1beb64cddc',
  },
  createSendMessages: {
    module: 'src/producer/sendMessages.js',
    sourceSha256: '3ee877abaa2b09ea8cb91be9a3673501c918985228257820669935ea74741f4d',
  },
  createRequest: {
    module: 'src/protocol/request.js',
    sourceSha256: '989e20fd47854b087d0a699b8312176511e37cc8440b7146b34fa3d494d5a9b4',
  },
  shouldReauthenticate: {
    module: 'src/network/connection.js',
    sourceSha256: 'e8eeba7bbe686205565e4d75c2acea9e049d1bc6e0406599dbd84d592c4adfb0',
  },
  parseMetadata: {
    module: 'src/protocol/requests/metadata/v0/response.js',
    sourceSha256: 'd30641109479478c76d49af2160f44f0e01fde6f8b3fddf0af301ae1df0103e3',
  },
  parseAddPartitionsToTxn: {
    module: 'src/protocol/requests/addPartitionsToTxn/v0/response.js',
    sourceSha256: 'd697bcb5b5964edc4811547b089abc1a0fdb2554721ab0e27147a74df041c439',
  },
  parseTxnOffsetCommit: {
    module: 'src/protocol/requests/txnOffsetCommit/v0/response.js',
    sourceSha256: 'd4149159b54f158bcf25bd8ed492e50060a82a4c87a0b11925faea80fc92911c',
  },
} as const;

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
    group: join(root, PATCHED_FUNCTIONS.consumerGroup.module),
    filter: join(root, PATCHED_FUNCTIONS.filterAbortedMessages.module),
    metadata: join(root, PATCHED_FUNCTIONS.metadataProtocol.module),
    send: join(root, PATCHED_FUNCTIONS.createSendMessages.module),
    request: join(root, PATCHED_FUNCTIONS.createRequest.module),
    connection: join(root, PATCHED_FUNCTIONS.shouldReauthenticate.module),
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
    // After those that it takes.
    const group: ConsumerGroupClass = require(paths.group);
    verifySource('consumerGroup', group);
    replaceExports(require, paths.group, withFetchWaits(group));
  }
  return require('kafkajs');
}

function patchReauthentication({ prototype }: { readonly prototype: object }): void {
  const symbol = Object.getOwnPropertySymbols(prototype).find(
    ({ description }) => description === SHOULD_REAUTHENTICATE,
  );
  const original: unknown = symbol && Reflect.get(prototype, symbol);
  verifySource('shouldReauthenticate', original);
  if (symbol) Reflect.set(prototype, symbol, shouldReauthenticate);
}

/** @throws Error when the function's source text is not the expected one. Exported for tests. */
export function verifySource(name: keyof typeof PATCHED_FUNCTIONS, found: unknown): void {
  const { module, sourceSha256 } = PATCHED_FUNCTIONS[name];
  const foundSha256 = createHash('sha256').update(String(found)).digest('hex');
  if (foundSha256 === sourceSha256) return;
  throw new Error(
    `${name} in kafkajs/${module} is not the function that its patch was written for (its source has SHA-256 ` +
      `${foundSha256}, expected ${sourceSha256}). Install kafkajs 2.2.4 exactly, or review the patch in kafkajs-patches.ts.`,
  );
}

function replaceExports(require: NodeJS.Require, path: string, replacement: unknown): void {
  const module = require.cache[path];
  if (module === undefined) throw new Error(`kafkajs did not load ${path}, so it cannot be patched`);
  module.exports = replacement;
}
