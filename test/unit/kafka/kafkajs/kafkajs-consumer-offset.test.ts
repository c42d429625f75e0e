import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kafka } from 'kafkajs';
import { fetchConsumerOffset } from '../../../../src/kafka/kafkajs/kafkajs-consumer-offset.ts';
import { DEFAULT_TUNING } from '../../../../src/kafka/kafkajs/tuning.ts';
import { settle } from '../stepped-clock.ts';

const PARTITION = { topic: 't', partition: 0 };

/** An admin client that connects when it is let, and answers with this offset. */
function fakeAdmin(offset: string) {
  const steps: string[] = [];
  const connected = Promise.withResolvers<void>();
  const admin = () => ({
    async connect() {
      steps.push('connect');
      await connected.promise;
    },
    async fetchOffsets() {
      steps.push('fetch');
      return [{ topic: 't', partitions: [{ partition: 0, offset }] }];
    },
    async disconnect() {
      steps.push('disconnect');
    },
  });
  const kafka = { admin } as unknown as Kafka;
  const fetch = (signal: AbortSignal) => fetchConsumerOffset({ kafka, tuning: DEFAULT_TUNING }, 'g', PARTITION, signal);
  return { fetch, steps, connect: connected.resolve };
}

for (const [reported, means] of [
  ['7', 7n],
  ['-1', null],
  ['-2', null],
] as const) {
  test(`an offset of ${reported} is ${means === null ? 'none' : `the next to read`}`, async () => {
    const { fetch, steps, connect } = fakeAdmin(reported);
    connect();
    assert.equal(await fetch(new AbortController().signal), means);
    assert.deepEqual(steps, ['connect', 'fetch', 'disconnect']);
  });
}

test('who stops asking does not wait for the connection, which is ended once it is made and not before', async () => {
  const { fetch, steps, connect } = fakeAdmin('7');
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
