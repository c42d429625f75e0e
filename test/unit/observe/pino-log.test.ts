import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { createSecretReader } from '../../../src/config/secret.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { createLogOutput, LARGEST_BACKLOG_BYTES } from '../../../src/observe/log-output.ts';
import { createRedaction } from '../../../src/observe/redaction.ts';
import { keptLog } from './log-lines.ts';

const MODULE = resolve(import.meta.dirname, '../../../src/observe/pino-log.ts');
/** Arguments of Node.js for a process that logs. */
const logging = (body: string) => [
  '--input-type=module',
  '--eval',
  `import { createLog } from ${JSON.stringify(MODULE)};
   const log = createLog({ level: 'info', format: 'json' });
   ${body}`,
];
const HOSTILE = 'a\r\n\u001b[2J{"level":"error"}';

test('a line is one JSON object with level, ISO time, fields and message', async () => {
  const { log, lines, parsed } = keptLog();
  log.info({ source: 'instruments', rows: 3 }, 'page committed');
  assert.match(lines[0] ?? '', /^\{.*\}\n$/);
  const [{ time, ...rest }] = parsed();
  assert.equal(new Date(time).toISOString(), time);
  assert.deepEqual(rest, { level: 'info', source: 'instruments', rows: 3, msg: 'page committed' });
});

test('lines below the level are not written', async () => {
  const { log, parsed } = keptLog({ level: 'warn' });
  log.debug({}, 'a');
  log.info({}, 'b');
  log.warn({}, 'c');
  log.error({}, 'd');
  const messages = parsed().map(({ msg }) => msg);
  assert.deepEqual(messages, ['c', 'd']);
});

test('a field cannot pretend to be the level, the time or the message', async () => {
  const { log, lines, parsed } = keptLog();
  log.info({ level: 'fatal', time: 'never', msg: 'other' }, 'mine');
  assert.equal(lines[0]?.match(/"level":/g)?.length, 1);
  const [{ level, msg, level_ }] = parsed();
  assert.deepEqual([level, msg, level_], ['info', 'mine', 'fatal']);
});

for (const format of ['json', 'text'] as const) {
  test(`hostile text gives one line and no terminal codes of its own, ${format === 'text' ? 'on a terminal' : 'as JSON'}`, async () => {
    const { log, lines } = keptLog({ format });
    log.info({ value: HOSTILE, [HOSTILE]: 1, err: new Error(HOSTILE) }, HOSTILE);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /^[^\r\n]*\n$/);
    assert.ok(!lines[0]?.includes('\u001b[2J'));
    assert.match(lines[0] ?? '', /u001b\[2J/);
  });

  test(`a secret appears nowhere in a line, ${format === 'text' ? 'on a terminal' : 'as JSON'}`, async () => {
    const redaction = createRedaction();
    const { log, lines } = keptLog({ format, redaction, level: 'debug' });
    const secrets = createSecretReader({ readFile: async () => '', onSecret: redaction.register });
    const secret = secrets.fromText('canary-7f3a');
    const cause = new Error('inner canary-7f3a');
    const err = new ConnectorError('TOKEN_FAILED', 'outer canary-7f3a', { cause, fields: { a: ['canary-7f3a'] } });
    log.error(
      { err, secret, nested: { list: [{ 'x-canary-7f3a': 'y canary-7f3a' }] }, password: 'other' },
      'is canary-7f3a',
    );
    assert.ok(!lines.join('').includes('canary-7f3a'), lines.join(''));
    assert.ok(!lines.join('').includes('other'));
    assert.ok(lines.join('').includes('[redacted]'));
  });
}

test('an error says what it is, what to do and why; its stack only at debug', async () => {
  const err = new ConnectorError('PROVIDER_BUSY', 'status 503', {
    cause: new Error('inner'),
    retryAfterMs: 5,
    fields: { status: 503 },
  });
  const info = keptLog();
  info.log.warn({ err }, 'attempt failed');
  assert.deepEqual(info.parsed()[0].err, {
    type: 'ConnectorError',
    message: 'status 503',
    code: 'PROVIDER_BUSY',
    action: 'retry',
    retryAfterMs: 5,
    fields: { status: 503 },
    cause: { type: 'Error', message: 'inner' },
  });
  const debug = keptLog({ level: 'debug' });
  debug.log.warn({ err }, 'attempt failed');
  const { stack, cause } = debug.parsed()[0].err;
  assert.match(stack[1], /^at .*pino-log\.test\.ts/);
  assert.match(cause.stack[1], /^at .*pino-log\.test\.ts/);
});

// What a pipe holds is with the reader; a process that is killed can do no more.
for (const [ending, count] of [
  ['process.exit(0)', 500],
  ['process.kill(process.pid, "SIGKILL")', 50],
] as const) {
  test(`no line is lost when the process ends by ${ending}`, async () => {
    const script = `for (let n = 0; n < ${count}; n++) log.info({ n, text: 'x'.repeat(1000) }, 'line'); ${ending};`;
    const run = promisify(execFile)(process.execPath, logging(script), { maxBuffer: 1e8 });
    const { stdout } = await run.catch((killed: { stdout: string }) => killed);
    assert.equal(stdout.split('\n').length, count + 1);
    assert.match(stdout, new RegExp(`"n":${count - 1},[^\n]*\n$`));
  });
}

test('lines for which a reader that has stopped leaves no room are counted, and reported when it goes on', async () => {
  const script = `
    for (let line = 0; line < 5_000; line++) log.info({ line }, 'x'.repeat(500));
    process.on('SIGUSR2', () => { log.info({}, 'goes on'); process.exit(); });
    process.stderr.write(String(log.droppedLines()));
    setInterval(() => {}, 1_000);`;
  const child = spawn(process.execPath, logging(script), { stdio: ['ignore', 'pipe', 'pipe'] });
  const [said] = (await once(child.stderr, 'data')) as [Buffer];
  const dropped = Number(said.toString());
  assert.ok(dropped > 0);
  const lines = [];
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(JSON.parse(line));
    if (lines.at(-1).lines !== undefined) child.kill('SIGUSR2');
  }
  const [gap, last] = lines.slice(-2);
  assert.deepEqual([gap.level, gap.lines, last.msg], ['warn', dropped, 'goes on']);
  assert.equal(lines.length, 5_000 - dropped + 2);
});

test('lines for which the disk has no room stop nobody, however many', { skip: !existsSync('/dev/full') }, async () => {
  const script = `
    for (let line = 0; line < 20_000; line++) log.info({ line }, 'x'.repeat(500));
    process.stderr.write(process.memoryUsage().rss < 200_000_000 ? 'alive' : 'too large');`;
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, logging(script), { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  const [said, [code]] = await Promise.all([child.stderr ? text(child.stderr) : '', once(child, 'close')]);
  assert.deepEqual([code, said], [0, 'alive']);
});

test('text is one line too, with the message and its fields', async () => {
  const { log, lines } = keptLog({ format: 'text' });
  log.warn({ source: 'instruments', events: 3, err: new Error('no') }, 'writer lost');
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /writer lost source=instruments events=3 err=Error: no\n$/);
});

test('text that goes to a file has no escape sequence, and text for a terminal is coloured', async () => {
  const [plain, coloured] = [keptLog({ format: 'text' }), keptLog({ format: 'text', isColoured: true })];
  for (const { log } of [plain, coloured]) log.warn({ a: 1 }, 'b');
  assert.ok(!plain.lines[0]?.includes('\u001b'), plain.lines[0]);
  assert.ok(coloured.lines[0]?.includes('\u001b'));
});

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
