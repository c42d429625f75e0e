import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { systemClock } from '../../support/clock.ts';
import { type AbortedTransaction, kafkajsError, type RawMessage } from './kafkajs-internals.ts';
import { decodeFetchedRecord } from './kafkajs-record.ts';
import { framedInPlace } from './produce/produce-request.ts';
import { sendOnce } from './produce/send-messages.ts';
import { askingForLast } from './writer-producer.ts';

/*
 * Replaces functions of kafkajs 2.2.4 (the last release) that lose data, repeat data, waste CPU or fail without need.
 * Each replacement fits one exact source text of kafkajs' function. If the source text differs, loading fails.
 */

type Kafkajs = typeof import('kafkajs');

interface RecordBatch {
  readonly firstOffset: string;
  readonly lastOffsetDelta: number;
  readonly maxTimestamp: string;
  readonly producerId: string;
  readonly inTransaction: boolean;
  readonly records: RawMessage[];
}

type MetadataProtocol = (of: { readonly version: number }) => (asked: { readonly topics: readonly string[] }) => {
  readonly request: unknown;
  readonly response: { readonly parse: (data: unknown) => Promise<unknown> };
};

type FilterAborted = (fetched: {
  messages: readonly RawMessage[];
  abortedTransactions?: readonly AbortedTransaction[];
}) => readonly RawMessage[];
type DecodeBatch = (decoder: unknown) => Promise<RecordBatch>;
type ScheduleCheck = (this: { readonly pending: readonly unknown[] }) => void;

const ABORT_MARKER_KEY = Buffer.from([0, 0, 0, 0]);

/** An empty queue needs no check, but the original checks it every millisecond. */
function scheduleOnlyWhenPending(original: ScheduleCheck): ScheduleCheck {
  return function scheduleCheckPendingRequests() {
    if (this.pending.length > 0) original.call(this);
  };
}

/**
 * Compaction can remove the last records of a batch and keep the batch. Then a consumer would wait forever for these
 * records. So a control record is added at the batch's end. It moves the consumer's offset, but reaches no handler.
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
 * Removes the records of aborted transactions. The broker lists these transactions in the order of their *ends*. At
 * each record, the original checks only the next transaction of the list, so some aborted records remain. The original
 * also treats each record whose key is four zero bytes as a marker.
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
 * A new producer, and most functions of an admin client, request the metadata of all topics. The original fails on the
 * error of any partition. So one partition without a leader, in any topic, would prevent the opening of every writer.
 */
function allWithoutErrors(original: MetadataProtocol): MetadataProtocol {
  return (of) => (asked) => {
    const { request, response } = original(of)(asked);
    if (asked.topics.length > 0) return { request, response };
    return { request, response: { ...response, parse: async (data) => data } };
  };
}

interface PartitionError {
  readonly errorCode: number;
}

interface TopicErrors {
  readonly topic: string;
  readonly topicErrorCode?: number;
  readonly partitionErrors?: readonly PartitionError[];
  readonly partitions?: readonly PartitionError[];
}

/** A response has one of these lists; the kind of request decides which list. */
interface TopicsResponse {
  readonly topicMetadata?: readonly TopicErrors[];
  readonly errors?: readonly TopicErrors[];
  readonly topics?: readonly TopicErrors[];
}

function errorsOf({ topicMetadata = [], errors = topicMetadata, topics = errors }: TopicsResponse) {
  return topics.flatMap(({ topic, topicErrorCode = 0, partitionErrors = [], partitions = partitionErrors }) =>
    [topicErrorCode, ...partitions.map(({ errorCode }) => errorCode)]
      .filter((errorCode) => errorCode !== 0)
      .map((errorCode) => ({ topic, errorCode })),
  );
}

const OPERATION_NOT_ATTEMPTED = 55;

type Parse = (data: TopicsResponse) => Promise<unknown>;

/**
 * A response about several topics has an error code for each topic. The original throws the first error, without the
 * topic's name, even if this error is only "not attempted". The replacement throws the first error with another
 * code. The field `topics` of this error names all topics with the same code.
 */
function namingTopics(original: Parse): Parse {
  return async (data) => {
    try {
      return await original(data);
    } catch (error) {
      const errors = errorsOf(data);
      const refusal = errors.find(({ errorCode }) => errorCode !== OPERATION_NOT_ATTEMPTED);
      if (refusal === undefined) throw error;
      const { errorCode } = refusal;
      const topics = new Set(errors.filter((other) => other.errorCode === errorCode).map(({ topic }) => topic));
      throw Object.assign(kafkajsError(errorCode), { topics: [...topics] });
    }
  };
}

type CreateFetchManager = (options: { readonly fetch: (nodeId: number) => Promise<readonly unknown[]> }) => {
  start(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * A stopped member must not fetch. When a partition's leader changes, the original starts new fetch loops. If the member
 * leaves at this moment, nothing ends these loops, and they take 100 % CPU. This replacement ends each at its next `fetch`.
 */
function stoppedForGood(original: CreateFetchManager): CreateFetchManager {
  return (options) => {
    let isStopped = false;
    const manager = original({
      ...options,
      async fetch(nodeId) {
        if (!isStopped) return options.fetch(nodeId);
        // Not awaited, because `stop` waits for the loop that calls this function.
        void manager.stop();
        return [];
      },
    });
    return {
      ...manager,
      start() {
        isStopped = false;
        return manager.start();
      },
      stop() {
        isStopped = true;
        return manager.stop();
      },
    };
  };
}

interface Patch {
  readonly module: string;
  /** A path of names in the module's exports. Default: the exports themselves. */
  readonly member?: string;
  /** The SHA-256 of the original's source text in 2.2.4. */
  readonly sourceSha256: string;
  // biome-ignore lint/suspicious/noExplicitAny: kafkajs has no types for what is replaced here.
  readonly replace: (original: any) => unknown;
}

const namesTopics = { member: 'parse', replace: namingTopics };

/** The patches in loading order, because a module keeps the functions that it finds when it is loaded. */
const PATCHES: readonly Patch[] = [
  // Decodes only the fields that a reader uses.
  {
    module: 'src/protocol/recordBatch/record/v0/decoder.js',
    sourceSha256: 'fbe3525528b41bced97fb4ab8a5669fcdc18b56179a1e565690feae7b5f80ac7',
    replace: () => decodeFetchedRecord,
  },
  {
    module: 'src/protocol/recordBatch/v0/decoder.js',
    sourceSha256: '77acebbb995191c1896488c8cbc61581969f98f07339dd50e8bb7c720f939f87',
    replace: markBatchEnd,
  },
  {
    module: 'src/network/requestQueue/index.js',
    member: 'prototype.scheduleCheckPendingRequests',
    sourceSha256: '04347ea969c6f2e3754427c0cbaee0bd4ce947fbd82f7b6e027506a06dfc581a',
    replace: scheduleOnlyWhenPending,
  },
  {
    module: 'src/consumer/filterAbortedMessages.js',
    sourceSha256: '59acdacae7d98f7fb842b22c6f6a79e459d0dd1efef9905da1c2ec459ddafdfe',
    replace: () => withoutAborted,
  },
  {
    module: 'src/protocol/requests/metadata/v0/response.js',
    sourceSha256: 'd30641109479478c76d49af2160f44f0e01fde6f8b3fddf0af301ae1df0103e3',
    ...namesTopics,
  },
  {
    module: 'src/protocol/requests/addPartitionsToTxn/v0/response.js',
    sourceSha256: 'd697bcb5b5964edc4811547b089abc1a0fdb2554721ab0e27147a74df041c439',
    ...namesTopics,
  },
  {
    module: 'src/protocol/requests/txnOffsetCommit/v0/response.js',
    sourceSha256: 'd4149159b54f158bcf25bd8ed492e50060a82a4c87a0b11925faea80fc92911c',
    ...namesTopics,
  },
  {
    module: 'src/protocol/requests/metadata/index.js',
    member: 'protocol',
    sourceSha256: '32529e32a3c135dfba608a4e37fd60a27a7b5d38621b1986ae571a1beb64cddc',
    replace: allWithoutErrors,
  },
  // After an error, the original sends the records again. The broker may have them, so it can double a record (send-messages.ts).
  {
    module: 'src/producer/sendMessages.js',
    sourceSha256: '3ee877abaa2b09ea8cb91be9a3673501c918985228257820669935ea74741f4d',
    replace: () => sendOnce(systemClock),
  },
  {
    module: 'src/protocol/request.js',
    sourceSha256: '989e20fd47854b087d0a699b8312176511e37cc8440b7146b34fa3d494d5a9b4',
    replace: framedInPlace,
  },
  {
    module: 'src/producer/index.js',
    sourceSha256: '519a9bac04d9340e4f126c83c1045819c8ff89f93f002b25206b5f66bdb38891',
    replace: (original) => askingForLast(original, systemClock),
  },
  {
    module: 'src/consumer/fetchManager.js',
    sourceSha256: '64fc4b5aa6688744ba8d695d563c6a3c6043ea6036ed4188a0da3c21e9844f98',
    replace: stoppedForGood,
  },
];

/**
 * Loads kafkajs with the patches. If kafkajs is loaded already, loads all its modules again, with patched functions.
 *
 * @throws Error if the source text of a function differs from the text that its patch expects.
 */
export function loadKafkajs(): Kafkajs {
  const require = createRequire(import.meta.url);
  const root = dirname(require.resolve('kafkajs/package.json'));
  if (require.cache[join(root, 'src/consumer/filterAbortedMessages.js')]?.exports !== withoutAborted) {
    for (const path of Object.keys(require.cache)) if (path.startsWith(root + sep)) delete require.cache[path];
    for (const patch of PATCHES) apply(patch, require, join(root, patch.module));
  }
  return require('kafkajs');
}

function apply({ module, member, sourceSha256, replace }: Patch, require: NodeJS.Require, path: string): void {
  const exported: object = require(path);
  const names = member?.split('.') ?? [];
  let holder: object = member === undefined ? (require.cache[path] as NodeJS.Module) : exported;
  for (const name of names.slice(0, -1)) holder = Reflect.get(holder, name);
  const key = names.at(-1) ?? 'exports';
  const original: unknown = Reflect.get(holder, key);
  const foundSha256 = createHash('sha256').update(String(original)).digest('hex');
  if (foundSha256 !== sourceSha256) {
    throw new Error(
      `kafkajs/${module} has another ${member ?? 'function'} than its patch expects (its source has SHA-256 ` +
        `${foundSha256}, expected ${sourceSha256}). Install kafkajs 2.2.4 exactly, or review the patch in kafkajs-patches.ts.`,
    );
  }
  Reflect.set(holder, key, replace(original));
}
