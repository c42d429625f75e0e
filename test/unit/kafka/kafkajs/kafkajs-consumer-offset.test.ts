import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CoordinatedCluster, fetchConsumerOffset } from '../../../../src/kafka/kafkajs/kafkajs-consumer-offset.ts';
import type { Broker } from '../../../../src/kafka/kafkajs/kafkajs-internals.ts';
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
    findGroupCoordinator: async () => ({ connectionPool: { send } }) as unknown as Broker,
    async disconnect() {
      steps.push('disconnect');
    },
  };
  const topicIds = async () => new Map([['t', 'id-now']]);
  const parts = { open: () => cluster, topicIds, tuning: DEFAULT_TUNING, clock };
  const fetch = (signal = new AbortController().signal) => fetchConsumerOffset(parts, 'g', PARTITION, signal);
  return { fetch, steps, clock, connect: connected.resolve };
}

test('an offset of an earlier topic of the same name is none, nor is a negative one', async () => {
  for (const [reported, metadata, expected] of [
    [7n, '', { offset: 7n, metadata: '' }],
    [7n, 'id-now', { offset: 7n, metadata: '' }],
    [7n, 'id-now {"so": "far"}', { offset: 7n, metadata: '{"so": "far"}' }],
    [7n, ' so far', { offset: 7n, metadata: 'so far' }],
    [7n, 'id-of-an-earlier-topic so far', null],
    [-1n, '', null],
    [-2n, '', null],
  ] as const) {
    const { fetch, steps, connect } = coordinator({ errorCode: 0, offset: reported, metadata });
    connect();
    assert.deepEqual(await fetch(), expected, metadata);
    assert.deepEqual(steps, ['connect', 'fetch', 'disconnect']);
  }
});

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
