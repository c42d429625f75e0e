import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OpenWriters } from '../../../src/kafka/open-writers.ts';
import type { TransactionalWriter } from '../../../src/kafka/transactional-writer.ts';

const { signal } = new AbortController();

function countedWriter() {
  let closed = 0;
  const writer: TransactionalWriter = {
    open: (readPosition) => readPosition(signal),
    commit: async () => {},
    close: async () => {
      closed += 1;
    },
  };
  return { writer, closed: () => closed };
}

test('at the end those are closed that are open, opened again included; what was closed is forgotten', async () => {
  const writers = new OpenWriters();
  const [never, open, closed, again] = [countedWriter(), countedWriter(), countedWriter(), countedWriter()];
  const [, inUse, gone, back] = [never, open, closed, again].map(({ writer }) => writers.watched(writer));
  for (const writer of [inUse, gone, back]) assert.equal(await writer?.open(async () => 7, signal), 7);
  for (const writer of [gone, back]) await writer?.close();
  await back?.open(async () => {}, signal);
  await writers.close();
  assert.deepEqual(
    [never, open, closed, again].map((each) => each.closed()),
    [0, 1, 1, 2],
  );
});

test('writer sessions that come and go leave nothing behind', async () => {
  const writers = new OpenWriters();
  const sessions = Array.from({ length: 100 }, countedWriter);
  for (const { writer } of sessions) {
    const watched = writers.watched(writer);
    await watched.open(async () => {}, signal);
    await watched.close();
  }
  await writers.close();
  assert.ok(sessions.every(({ closed }) => closed() === 1));
});
