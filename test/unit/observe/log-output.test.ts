import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogOutput, LARGEST_BACKLOG_BYTES } from '../../../src/observe/log-output.ts';

/** An output to a reader who takes so many bytes and no more, with time that passes when the test asks it to. */
function readBy(reader: { room: number; code?: string }) {
  let taken = '';
  const due: (() => void)[] = [];
  let waitedMs = 0;
  const output = createLogOutput({
    write(chunk) {
      const { room, code = 'EAGAIN' } = reader;
      if (room === 0) throw Object.assign(new Error('no room'), { code });
      const part = chunk.subarray(0, Math.min(room, chunk.length));
      reader.room -= part.length;
      taken += part.toString('latin1');
      return part.length;
    },
    droppedLine: (lines) => `${lines} dropped\n`,
    later: (_, action) => void due.push(action),
    waitMs(ms) {
      waitedMs += ms;
    },
  });
  return {
    output,
    lines: () => Buffer.from(taken, 'latin1').toString().trimEnd().split('\n'),
    /** What is due later. */
    later: () => due.splice(0).map((action) => action()).length,
    waitedMs: () => waitedMs,
  };
}

test('while the reader reads, a line is with it at once', () => {
  const { output, lines, later } = readBy({ room: Number.POSITIVE_INFINITY });
  output.write('one\n');
  assert.deepEqual(lines(), ['one']);
  output.write('two\n');
  assert.deepEqual([lines(), later(), output.dropped()], [['one', 'two'], 0, 0]);
});

test('what a reader did not take is there once it reads again, whole, without another line', () => {
  const reader = { room: 2 };
  const { output, lines, later } = readBy(reader);
  output.write('äöü one\n');
  output.write('two\n');
  assert.deepEqual([later(), later()], [1, 1]);
  reader.room = 5;
  assert.equal(later(), 1);
  reader.room = 1_000;
  assert.equal(later(), 1);
  assert.deepEqual([lines(), later()], [['äöü one', 'two'], 0]);
});

test('a reader that has stopped makes lines be dropped, counted and reported where they are missing', () => {
  const reader = { room: 0 };
  const { output, lines, later } = readBy(reader);
  const line = (number: number) => `${number} ${'x'.repeat(1_000)}\n`;
  const size = line(1_000).length;
  const kept = Math.floor(LARGEST_BACKLOG_BYTES / size);
  for (let number = 1_000; number < 1_000 + kept + 7; number++) output.write(line(number));
  assert.equal(output.dropped(), 7);
  // A short line is no way past those that are missing.
  output.write('short\n');
  reader.room = size;
  output.write('short\n');
  assert.equal(output.dropped(), 9);
  reader.room = Number.POSITIVE_INFINITY;
  assert.equal(later(), 1);
  output.write('last\n');
  const all = lines();
  assert.equal(all.length, kept + 2);
  assert.ok(all[kept - 1]?.startsWith(`${1_000 + kept - 1} `));
  assert.deepEqual([all.slice(-2), output.dropped()], [['9 dropped', 'last'], 9]);
});

test('the end of the process waits for a reader that is behind, and a second at most', () => {
  const slow = { room: 0 };
  const behind = readBy(slow);
  behind.output.write('a line\n');
  slow.room = 100;
  behind.output.end();
  assert.deepEqual(behind.lines(), ['a line']);
  const gone = readBy({ room: 0 });
  gone.output.write('a line\n');
  gone.output.end();
  assert.equal(gone.waitedMs(), 1_000);
});

test('the end does not wait for a disk that is full, or for a reader that is gone', () => {
  for (const code of ['ENOSPC', 'EPIPE', 'EIO']) {
    const { output, waitedMs } = readBy({ room: 0, code });
    output.write('a line\n');
    output.end();
    assert.equal(waitedMs(), 0);
  }
});

test('a gap is reported at the end too', () => {
  const reader = { room: 0 };
  const { output, lines } = readBy(reader);
  for (let count = 0; count < 3; count++) output.write(`${'x'.repeat(LARGEST_BACKLOG_BYTES / 2)}\n`);
  reader.room = Number.POSITIVE_INFINITY;
  output.end();
  assert.deepEqual(lines().slice(1), ['2 dropped']);
});
