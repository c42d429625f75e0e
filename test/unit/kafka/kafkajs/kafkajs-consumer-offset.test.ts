import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kafka } from 'kafkajs';
import {
  type CoordinatedCluster,
  decodeOffsetFetch,
  encodeOffsetFetch,
  fetchConsumerOffset,
} from '../../../../src/kafka/kafkajs/kafkajs-consumer-offset.ts';
import { clusterFactory } from '../../../../src/kafka/kafkajs/kafkajs-log-client.ts';
import { loadKafkajs } from '../../../../src/kafka/kafkajs/kafkajs-patches.ts';
import { FRAME_ROOM_BYTES } from '../../../../src/kafka/kafkajs/requests.ts';
import { DEFAULT_TUNING, longestOpenMs } from '../../../../src/kafka/kafkajs/tuning.ts';
import { SteppedClock, settle } from '../stepped-clock.ts';

const PARTITION = { topic: 't', partition: 0 };
const UNSTABLE = { errorCode: 88, offset: -1n };
const LOADING = { errorCode: 14, offset: -1n };

/** A coordinator that gives these answers, the last one again and again, once a connection is let through. */
function coordinator(
  ...answers: { readonly errorCode: number; readonly offset: bigint; readonly metadata?: string }[]
) {
  const steps: string[] = [];
  const clock = new SteppedClock();
  const connected = Promise.withResolvers<void>();
  let asked = 0;
  const send = async () => {
    steps.push('fetch');
    return { metadata: '', ...answers[Math.min(asked++, answers.length - 1)] };
  };
  const cluster: CoordinatedCluster = {
    async connect() {
      steps.push('connect');
      await connected.promise;
    },
    addTargetTopic: async () => {},
    findTopicPartitionMetadata: () => [{ partitionId: 0 }],
    findGroupCoordinator: async () => ({ connectionPool: { send } }),
    async disconnect() {
      steps.push('disconnect');
    },
  };
  const topicIds = async () => new Map([['t', 'id-now']]);
  const parts = { open: () => cluster, topicIds, tuning: DEFAULT_TUNING, clock };
  const fetch = (signal = new AbortController().signal) => fetchConsumerOffset(parts, 'g', PARTITION, signal);
  return { fetch, steps, clock, connect: connected.resolve };
}

for (const [reported, metadata, means] of [
  [7n, '', 7n],
  [7n, 'id-now', 7n],
  [7n, 'id-now {"so": "far"}', 7n],
  [7n, ' so far', 7n],
  [7n, 'id-of-an-earlier-topic', null],
  [7n, 'id-of-an-earlier-topic so far', null],
  [-1n, '', null],
  [-2n, '', null],
] as const) {
  const what = metadata === '' ? reported : `${reported} with the ${metadata}`;
  test(`an offset of ${what} is ${means === null ? 'none' : `the next to read`}`, async () => {
    const { fetch, steps, connect } = coordinator({ errorCode: 0, offset: reported, metadata });
    connect();
    const found = await fetch();
    assert.equal(found?.offset ?? null, means);
    assert.equal(
      found?.metadata ?? '',
      means === null ? '' : metadata.slice(metadata.indexOf(' ') + 1 || metadata.length),
    );
    assert.deepEqual(steps, ['connect', 'fetch', 'disconnect']);
  });
}

test('an offset whose transaction is ending, or whose coordinator loads, is asked for again', async () => {
  const { fetch, clock, connect } = coordinator(LOADING, UNSTABLE, UNSTABLE, { errorCode: 0, offset: 9n });
  connect();
  const asked = fetch();
  await clock.advance(1_000);
  assert.deepEqual(await asked, { offset: 9n, metadata: '' });
  assert.equal(clock.sleeping, 0);
});

test('an offset behind a transaction that hangs is refused, and no earlier one is used', async () => {
  const { fetch, clock, connect } = coordinator(UNSTABLE);
  connect();
  const asked = assert.rejects(fetch(), { code: 'TRANSACTION_HANGS', message: /kafka-transactions\.sh/ });
  await clock.advance(longestOpenMs(DEFAULT_TUNING) + 1_000);
  await asked;
});

test('a group that may not be read is an error that names it', async () => {
  const { fetch, connect } = coordinator({ errorCode: 30, offset: -1n });
  connect();
  await assert.rejects(fetch(), { code: 'KAFKA_UNREACHABLE', message: /group g .*GROUP_AUTHORIZATION_FAILED/ });
});

test('a caller that stops asking does not wait for the connection, which is ended once it is made and not before', async () => {
  const { fetch, steps, connect } = coordinator({ errorCode: 0, offset: 7n });
  const lost = new AbortController();
  const asked = fetch(lost.signal);
  await settle();
  const reason = new Error('another member reads this partition now');
  lost.abort(reason);
  await assert.rejects(asked, reason);
  await settle();
  // kafkajs would connect all the same, and nobody would ever disconnect it.
  assert.deepEqual(steps, ['connect']);
  connect();
  await settle();
  assert.equal(steps.at(-1), 'disconnect');
});

test('the request asks for a stable offset of one partition', () => {
  const { buffer, end } = encodeOffsetFetch('g', { topic: 't', partition: 3 });
  assert.equal(buffer.subarray(FRAME_ROOM_BYTES, end).toString('hex'), '000267020274020000000300' + '0100');
});

test('the response gives the offset, or the error of the partition or the group', () => {
  const partition = (offset: string, error: string) => `00000003${offset}ffffffff01${error}00`;
  const response = (topics: string, error = '0000') => Buffer.from(`0000000000${topics}${error}00`, 'hex');
  const one = (offset: string, error = '0000') => response(`02027402${partition(offset, error)}00`);
  assert.deepEqual(decodeOffsetFetch(one('0000000000000009')), { offset: 9n, metadata: '', errorCode: 0 });
  assert.deepEqual(decodeOffsetFetch(one('ffffffffffffffff', '0058')), { offset: -1n, metadata: '', errorCode: 88 });
  assert.deepEqual(decodeOffsetFetch(response('01', '001e')), { offset: -1n, metadata: '', errorCode: 30 });
  assert.throws(() => decodeOffsetFetch(one('0000000000000009').subarray(0, -3)), RangeError);
});

test('the cluster that kafkajs builds has all that the question needs', () => {
  const { Kafka, logLevel } = loadKafkajs();
  const kafka: Kafka = new Kafka({ brokers: ['127.0.0.1:1'], logLevel: logLevel.NOTHING });
  const cluster = clusterFactory({ kafka, onSilence() {} })<CoordinatedCluster>();
  for (const name of [
    'connect',
    'disconnect',
    'addTargetTopic',
    'findTopicPartitionMetadata',
    'findGroupCoordinator',
  ]) {
    assert.equal(typeof Reflect.get(cluster, name), 'function', name);
  }
});
