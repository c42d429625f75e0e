// Needs a process of its own: it loads kafkajs before and after the patches.
import assert from 'node:assert/strict';
import { createRequire, registerHooks } from 'node:module';
import { test } from 'node:test';
import { loadKafkajs, type RawMessage, withoutAborted } from '../../../../src/kafka/kafkajs/kafkajs-patches.ts';

const require = createRequire(import.meta.url);
const inKafkajs = (module: string) => require(`kafkajs/${module}`);

const FILTER = 'src/consumer/filterAbortedMessages.js';
// Before anything is patched, as by a program that loaded kafkajs first.
const original = inKafkajs(FILTER);
const loadedBefore = require('kafkajs');

test('a function with another source is refused, naming it and what to do', () => {
  const changed = registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      return url.endsWith(FILTER) ? { ...loaded, source: 'module.exports = () => {}' } : loaded;
    },
  });
  const refusal =
    /filterAbortedMessages\.js has not the function that its patch was written for.*Install kafkajs 2\.2\.4/;
  assert.throws(() => loadKafkajs(), refusal);
  changed.deregister();
});

test('a kafkajs that was loaded before is loaded again with all patches, and only once', () => {
  const kafkajs = loadKafkajs();
  assert.notEqual(kafkajs, loadedBefore);
  assert.equal(loadKafkajs(), kafkajs);
  assert.equal(inKafkajs(FILTER), withoutAborted);
  assert.notEqual(original, withoutAborted);
  // A module that took it when it was loaded has the patched one.
  const Runner = inKafkajs('src/consumer/runner.js');
  const logger = { namespace: () => logger };
  assert.match(String(new Runner({ logger }).fetchManager.stop), /isStopped/);
});

test('an idle request queue schedules nothing, a waiting one does', () => {
  loadKafkajs();
  const { prototype } = inKafkajs('src/network/requestQueue/index.js');
  const scheduledFor = (pending: readonly string[]) => {
    const timer: { throttleCheckTimeoutId: NodeJS.Timeout | null } = { throttleCheckTimeoutId: null };
    const queue = Object.assign(timer, { pending, throttledUntil: -1, checkPendingRequests() {} });
    prototype.scheduleCheckPendingRequests.call(queue);
    clearTimeout(queue.throttleCheckTimeoutId ?? undefined);
    return queue.throttleCheckTimeoutId !== null;
  };
  assert.deepEqual([scheduledFor([]), scheduledFor(['request'])], [false, true]);
});

test('of all topics none is an error, whatever became of a leader; of those that were named, each is', async () => {
  loadKafkajs();
  const { versions, protocol } = inKafkajs('src/protocol/requests/metadata/index.js');
  const partitionMetadata = [{ partitionErrorCode: 5, partitionId: 0, leader: -1 }];
  const data = { topicMetadata: [{ topicErrorCode: 0, topic: 'a', partitionMetadata }] };
  for (const version of versions) {
    const metadata = protocol({ version });
    assert.equal(await metadata({ topics: [] }).response.parse(data), data);
    await assert.rejects(metadata({ topics: ['a'] }).response.parse(data), { type: 'LEADER_NOT_AVAILABLE' });
  }
});

const [REFUSED, NOT_ATTEMPTED] = [29, 55];

for (const [name, response] of [
  [
    'addPartitionsToTxn',
    (codes: Record<string, number>) => ({
      errors: Object.entries(codes).map(([topic, errorCode]) => ({ topic, partitionErrors: [{ errorCode }] })),
    }),
  ],
  [
    'txnOffsetCommit',
    (codes: Record<string, number>) => ({
      topics: Object.entries(codes).map(([topic, errorCode]) => ({ topic, partitions: [{ errorCode }] })),
    }),
  ],
  [
    'metadata',
    (codes: Record<string, number>) => ({
      topicMetadata: Object.entries(codes).map(([topic, topicErrorCode]) => ({ topic, topicErrorCode })),
    }),
  ],
] as const) {
  test(`a refusal in a response to ${name} names the topics that were refused, and the reason`, async () => {
    loadKafkajs();
    const { versions, protocol } = inKafkajs(`src/protocol/requests/${name}/index.js`);
    const asked = { topics: ['a'] };
    for (const version of versions) {
      const { parse } = protocol({ version })(asked).response;
      await assert.rejects(parse(response({ a: NOT_ATTEMPTED, b: REFUSED, c: NOT_ATTEMPTED, d: REFUSED })), {
        type: 'TOPIC_AUTHORIZATION_FAILED',
        topics: ['b', 'd'],
      });
    }
  });
}

async function decodeBatch(offsetDeltas: readonly number[], lastOffsetDelta: number, compression = 0) {
  loadKafkajs();
  const { RecordBatch } = inKafkajs('src/protocol/recordBatch/v0/index.js');
  const Record = inKafkajs('src/protocol/recordBatch/record/v0/index.js');
  const Decoder = inKafkajs('src/protocol/decoder.js');
  const Long = inKafkajs('src/utils/long.js');
  const records = offsetDeltas.map((offsetDelta) => Record({ offsetDelta, timestampDelta: 0, key: 'k', value: 'v' }));
  const firstOffset = Long.fromValue(10);
  const encoded = await RecordBatch({ firstOffset, lastOffsetDelta, records, compression });
  const decode = inKafkajs('src/protocol/recordBatch/v0/decoder.js');
  const { records: decoded } = await decode(new Decoder(encoded.buffer));
  return decoded.map(({ offset, isControlRecord }: RawMessage) => `${offset}${isControlRecord ? ' control' : ''}`);
}

test('a batch that compaction emptied shows its end as one control record', async () => {
  assert.deepEqual(await decodeBatch([], 4), ['14 control']);
});

test('a batch whose last records were compacted away shows its end too', async () => {
  assert.deepEqual(await decodeBatch([0, 2], 4), ['10', '12', '14 control']);
  assert.deepEqual(await decodeBatch([0, 2], 4, 1), ['10', '12', '14 control']);
});

test('a whole batch is decoded as it is', async () => {
  assert.deepEqual(await decodeBatch([0, 1], 1), ['10', '11']);
});

const ABORT = Buffer.from([0, 0, 0, 0]);
const COMMIT = Buffer.from([0, 0, 0, 1]);
let nextOffset = 0;

function message(
  producerId: string,
  content: string | Buffer | null,
  inTransaction = true,
): RawMessage & { name: string } {
  const isControlRecord = Buffer.isBuffer(content) || content === null;
  const key = isControlRecord ? content : Buffer.from(content);
  const name = isControlRecord ? 'control' : content;
  return { name, offset: String(nextOffset++), key, isControlRecord, batchContext: { producerId, inTransaction } };
}

function visible(messages: readonly (RawMessage & { name: string })[], aborted: readonly [string, number][]) {
  const first = Number(messages[0]?.offset);
  const abortedTransactions = aborted.map(([producerId, at]) => ({ producerId, firstOffset: String(first + at) }));
  const kept = new Set<RawMessage>(withoutAborted({ messages, abortedTransactions }));
  return messages.filter((m) => kept.has(m) && !m.isControlRecord).map(({ name }) => name);
}

test('records of aborted transactions that interleave are left out, in whatever order they are listed', () => {
  const log = () => [
    message('1', 'aborted'),
    message('2', 'aborted'),
    message('3', 'good'),
    message('1', 'aborted'),
    message('2', ABORT),
    message('2', 'good'),
    message('1', 'aborted'),
    message('1', ABORT),
    message('1', 'good'),
    message('2', COMMIT),
  ];
  assert.deepEqual(
    visible(log(), [
      ['2', 1],
      ['1', 0],
    ]),
    ['good', 'good', 'good'],
  );
  assert.deepEqual(
    visible(log(), [
      ['1', 0],
      ['2', 1],
    ]),
    ['good', 'good', 'good'],
  );
});

test('several aborted transactions that began before the first record are all in force', () => {
  const log = [message('1', 'aborted'), message('2', 'aborted'), message('1', ABORT), message('2', 'aborted')];
  assert.deepEqual(
    visible(log, [
      ['1', -5],
      ['2', -9],
    ]),
    [],
  );
});

test('a record whose key looks like an abort marker ends nothing, and neither does a batch end', () => {
  const looksLikeMarker = { ...message('1', 'aborted'), key: ABORT };
  const log = [message('1', 'aborted'), looksLikeMarker, message('1', null), message('1', 'aborted')];
  assert.deepEqual(visible(log, [['1', 0]]), []);
});

test('records outside transactions and of producers that aborted nothing stay', () => {
  const log = [message('1', 'plain', false), message('2', 'good'), message('1', 'aborted')];
  assert.deepEqual(visible(log, [['1', 0]]), ['plain', 'good']);
});
