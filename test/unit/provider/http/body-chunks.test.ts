import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { chunksOf, collectBytes } from '../../../../src/provider/http/body-chunks.ts';

const bytes = (...values: number[]) => Buffer.from(values);

test('a reader that is slow keeps the writer waiting, and misses nothing', async () => {
  let written = 0;
  const stream = new Readable({
    highWaterMark: 1,
    read() {
      this.push(written < 1_000 ? bytes(written++ & 255) : null);
    },
  });
  const chunks = chunksOf(stream);
  await chunks.next();
  for (let turns = 0; turns < 20; turns++) await turn();
  assert.ok(written < 50, `${written} chunks were read ahead`);
  let read = 1;
  while (!(await chunks.next()).done) read += 1;
  assert.equal(read, 1_000);
});

test('an error, and an end before the end, come after the chunks before them', async () => {
  for (const end of [
    (stream: PassThrough) => stream.destroy(new Error('cut')),
    (stream: PassThrough) => stream.destroy(),
  ]) {
    const stream = new PassThrough();
    stream.write(bytes(1));
    const chunks = chunksOf(stream);
    const first = chunks.next();
    assert.deepEqual(await first, { done: false, value: bytes(1) });
    const waiting = chunks.next();
    end(stream);
    await assert.rejects(waiting, /cut|Premature close/);
    await assert.rejects(chunks.next(), /cut|Premature close/);
  }
});

test('the memory of a chunk is given back when the next one is asked for', async () => {
  const owned = () => Buffer.allocUnsafeSlow(65_536);
  const [first, shared, last] = [owned(), owned(), owned()];
  // Two chunks of one read of the socket, and one that lies in Node's pool.
  const sent = [first, shared.subarray(0, 1_000), shared.subarray(1_000), bytes(1, 2, 3), last];
  const chunks = chunksOf(Readable.from(sent), true);
  const isGone = (chunk: Buffer) => chunk.buffer.byteLength === 0;
  const gone: boolean[][] = [];
  while (!(await chunks.next()).done) gone.push([first, shared, last].map(isGone));
  assert.deepEqual(gone, [
    [false, false, false],
    [true, false, false],
    [true, false, false],
    [true, true, false],
    [true, true, false],
  ]);
  assert.ok(isGone(last), 'the last one at the end');
  assert.deepEqual(sent[3], bytes(1, 2, 3));
});

test('chunks that others may still use are not given back', async () => {
  const sent = [Buffer.alloc(65_536, 1), Buffer.alloc(65_536, 2)];
  const chunks = chunksOf(Readable.from(sent));
  while (!(await chunks.next()).done);
  const lengths = sent.map(({ length }) => length);
  assert.deepEqual(lengths, [65_536, 65_536]);
});

test('what is collected outlives its chunks', async () => {
  const sent = [1, 2, 3].map((value) => Buffer.alloc(65_536, value));
  const whole = Buffer.concat(sent);
  const chunks = chunksOf(Readable.from(sent), true);
  assert.deepEqual(await collectBytes({ [Symbol.asyncIterator]: () => chunks }), whole);
  assert.ok(sent.every(({ length }) => length === 0));
});

test('a body that is awaited arrives whole before its first chunk is read, and its edges are copies', async () => {
  const stream = new PassThrough({ highWaterMark: 1_000 });
  const reader = chunksOf(stream, true);
  for (let value = 0; value < 50; value++) stream.write(bytes(value, value));
  const arrived = reader.arrived(1_000, 3);
  stream.end();
  const edges = await arrived;
  assert.deepEqual([edges?.first, edges?.last], [bytes(0, 0, 1), bytes(48, 49, 49)]);
  for (let value = 0; value < 50; value++) assert.deepEqual((await reader.next()).value, bytes(value, value));
  assert.deepEqual(await reader.next(), { done: true, value: undefined });
});

test('of a body that is longer than may wait, no more than that is read ahead', async () => {
  let written = 0;
  const stream = new Readable({
    highWaterMark: 1,
    read() {
      this.push(written < 1_000 ? bytes(written++ & 255) : null);
    },
  });
  const reader = chunksOf(stream);
  assert.equal(await reader.arrived(100, 3), null);
  for (let turns = 0; turns < 20; turns++) await turn();
  assert.ok(written >= 100 && written < 150, `${written} chunks were read ahead`);
  let read = 0;
  while (!(await reader.next()).done) read += 1;
  assert.equal(read, 1_000);
});

test('a body that breaks while it is awaited gives what came, and then its error', async () => {
  const stream = new PassThrough();
  const reader = chunksOf(stream);
  const arrived = reader.arrived(1_000, 3);
  stream.write(bytes(1));
  await turn();
  stream.destroy(new Error('cut'));
  assert.equal(await arrived, null);
  assert.deepEqual(await reader.next(), { done: false, value: bytes(1) });
  await assert.rejects(reader.next(), /cut/);
});
