import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import {
  loadKafkajs,
  type RawMessage,
  scheduleOnlyWhenPending,
  withoutAborted,
} from '../../../../src/kafka/kafkajs/kafkajs-patches.ts';
import { PATCHED_FUNCTIONS, verifySource } from '../../../../src/kafka/kafkajs/patches/patched-functions.ts';

const require = createRequire(import.meta.url);
const inKafkajs = (module: string) => require(`kafkajs/${module}`);

// Taken before anything is patched, as a program would that loaded kafkajs first.
const { prototype: requestQueue } = inKafkajs(PATCHED_FUNCTIONS.scheduleCheckPendingRequests.module);
const original = {
  scheduleCheckPendingRequests: requestQueue.scheduleCheckPendingRequests,
  scheduleRequestTimeoutCheck: requestQueue.scheduleRequestTimeoutCheck,
  sendSocketRequest: requestQueue.sendSocketRequest,
  decodeRecordBatch: inKafkajs(PATCHED_FUNCTIONS.decodeRecordBatch.module),
  decodeRecord: inKafkajs(PATCHED_FUNCTIONS.decodeRecord.module),
  filterAbortedMessages: inKafkajs(PATCHED_FUNCTIONS.filterAbortedMessages.module),
  consumerGroup: inKafkajs(PATCHED_FUNCTIONS.consumerGroup.module),
  metadataProtocol: inKafkajs(PATCHED_FUNCTIONS.metadataProtocol.module).protocol,
  createSendMessages: inKafkajs(PATCHED_FUNCTIONS.createSendMessages.module),
  createProducer: inKafkajs(PATCHED_FUNCTIONS.createProducer.module),
  createFetchManager: inKafkajs(PATCHED_FUNCTIONS.createFetchManager.module),
  findGroupCoordinator: inKafkajs(PATCHED_FUNCTIONS.findGroupCoordinator.module).prototype.findGroupCoordinator,
  createRequest: inKafkajs(PATCHED_FUNCTIONS.createRequest.module),
  parseMetadata: inKafkajs(PATCHED_FUNCTIONS.parseMetadata.module).parse,
  parseAddPartitionsToTxn: inKafkajs(PATCHED_FUNCTIONS.parseAddPartitionsToTxn.module).parse,
  parseTxnOffsetCommit: inKafkajs(PATCHED_FUNCTIONS.parseTxnOffsetCommit.module).parse,
};
const loadedBefore = require('kafkajs');

for (const name of [
  'scheduleCheckPendingRequests',
  'scheduleRequestTimeoutCheck',
  'sendSocketRequest',
  'decodeRecordBatch',
  'decodeRecord',
  'filterAbortedMessages',
  'consumerGroup',
  'metadataProtocol',
  'createSendMessages',
  'createProducer',
  'createFetchManager',
  'findGroupCoordinator',
  'createRequest',
  'parseMetadata',
  'parseAddPartitionsToTxn',
  'parseTxnOffsetCommit',
] as const) {
  test(`the installed kafkajs has the ${name} that its patch was written for`, () => {
    verifySource(name, original[name]);
  });
}

test('a function with another source is refused, naming it and what to do', () => {
  const changed = () => {};
  assert.throws(
    () => verifySource('filterAbortedMessages', changed),
    /filterAbortedMessages in kafkajs\/src\/consumer\/filterAbortedMessages\.js is not the function.*Install kafkajs 2\.2\.4/,
  );
});

test('a kafkajs that was loaded before is loaded again with all patches, and only once', () => {
  const kafkajs = loadKafkajs();
  assert.notEqual(kafkajs, loadedBefore);
  assert.equal(loadKafkajs(), kafkajs);
  const { scheduleCheckPendingRequests, decodeRecordBatch, filterAbortedMessages } = PATCHED_FUNCTIONS;
  const schedule = inKafkajs(scheduleCheckPendingRequests.module).prototype.scheduleCheckPendingRequests;
  assert.notEqual(String(schedule), String(original.scheduleCheckPendingRequests));
  assert.notEqual(
    String(inKafkajs(PATCHED_FUNCTIONS.sendSocketRequest.module).prototype.sendSocketRequest),
    String(original.sendSocketRequest),
  );
  assert.notEqual(String(inKafkajs(decodeRecordBatch.module)), String(original.decodeRecordBatch));
  assert.equal(inKafkajs(filterAbortedMessages.module), withoutAborted);
  assert.notEqual(inKafkajs(PATCHED_FUNCTIONS.metadataProtocol.module).protocol, original.metadataProtocol);
  for (const name of ['createSendMessages', 'createRequest', 'consumerGroup', 'createFetchManager'] as const) {
    assert.notEqual(String(inKafkajs(PATCHED_FUNCTIONS[name].module)), String(original[name]));
  }
  assert.notEqual(
    String(inKafkajs(PATCHED_FUNCTIONS.findGroupCoordinator.module).prototype.findGroupCoordinator),
    String(original.findGroupCoordinator),
  );
  // What takes it when it is loaded takes the patched one.
  const Runner = inKafkajs('src/consumer/runner.js');
  const logger = { namespace: () => logger };
  assert.match(String(new Runner({ logger }).fetchManager.stop), /isStopped/);
});

test('an idle request queue schedules nothing, a waiting one does', () => {
  let scheduled = 0;
  const schedule = scheduleOnlyWhenPending(() => {
    scheduled += 1;
  });
  schedule.call({ pending: [] });
  assert.equal(scheduled, 0);
  schedule.call({ pending: ['request'] });
  assert.equal(scheduled, 1);
});

test('of all topics none is an error, whatever became of a leader; of those that were named, each is', async () => {
  loadKafkajs();
  const { versions, protocol } = inKafkajs(PATCHED_FUNCTIONS.metadataProtocol.module);
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
  const decode = inKafkajs(PATCHED_FUNCTIONS.decodeRecordBatch.module);
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
