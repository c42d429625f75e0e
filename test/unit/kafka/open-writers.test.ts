import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConnectedWriter, OpenWriters } from '../../../src/kafka/kafkajs/open-clients.ts';

const { signal } = new AbortController();

function countedWriter() {
  let closed = 0;
  const writer: ConnectedWriter = {
    open: (readPosition) => readPosition(signal),
    commit: async () => {},
    close: async () => {
      closed += 1;
    },
    disconnected: async () => {},
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

test('a writer is closed before its connections are; the end waits for them, also for those of writers closed before', async () => {
  const writers = new OpenWriters();
  const gone = Promise.withResolvers<void>();
  const { writer } = countedWriter();
  const watched = writers.watched({ ...writer, disconnected: () => gone.promise });
  await watched.open(async () => {}, signal);
  await watched.close();
  let isOver = false;
  const ended = writers.close().then(() => {
    isOver = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isOver, false);
  gone.resolve();
  await ended;
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
