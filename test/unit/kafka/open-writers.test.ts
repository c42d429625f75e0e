import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenWriters } from '../../../src/kafka/kafkajs/open-clients.ts';

const { signal } = new AbortController();

test('at the end those are closed that are open, opened again included; closed ones are forgotten', async () => {
  const writers = new OpenWriters();
  const closed: number[][] = [[], [], [], []];
  const [, open, gone, again] = closed.map((times) =>
    writers.watched({
      open: (readPosition) => readPosition(signal),
      commit: async () => {},
      close: async () => void times.push(1),
    }),
  );
  for (const writer of [open, gone, again]) assert.equal(await writer?.open(async () => 7, signal), 7);
  for (const writer of [gone, again]) await writer?.close();
  await again?.open(async () => {}, signal);
  await writers.close();
  assert.deepEqual(
    closed.map(({ length }) => length),
    [0, 1, 1, 2],
  );
});
