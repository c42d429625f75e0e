import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { watchStatus } from '../../../src/commands/status-command.ts';
import { type AdminScene, makeReady, startAdminScene } from '../../support/connectors/admin-scene.ts';
import { runWith } from './shell/terminal.ts';

const AGES = [1, 10, 60, Number.POSITIVE_INFINITY].map((seconds, at) => ({
  atMostMs: seconds * 1_000,
  instruments: [100, 700, 1_000, 1_000][at] ?? 0,
}));

function makeBusy(scene: AdminScene): void {
  makeReady(scene);
  const { board } = scene;
  const source = 'instruments';
  for (const events of [0, 3, 8, 5]) {
    board.events.eventsCommitted({ source, events, deadLetters: events === 3 ? 1 : 0 } as never);
    scene.now += 60_000;
  }
  board.events.walkStarted({ source, walk: 7, since: '5-1', why: 'due', waitMs: 0 });
  board.events.notified({ source, kind: 'shrinkRefused', text: 'Far fewer instruments than before. \u001b[2J' });
  const ages = { ageP50Ms: 8_000, ageP99Ms: 59_000, ageMaxMs: 60_000, ages: AGES };
  const states = { priced: 990, waiting: 0, repaid: 12, failing: { none: 5 } };
  const overview = { kind: 'overview', ...states, ...ages, overdue: 2, pulled: 0 } as const;
  const freshness = () => ({
    ...overview,
    kinds: [overview],
    instruments: 1_007,
    unreadable: 0,
    unansweredInputs: 0,
    lag: 0,
  });
  board.events.processorStarted({ groupId: 'g', topics: ['i'], kinds: ['overview'], freshness });
}

/** A terminal of this size; `seen` is called with each text that is written. */
function terminal(size: { isTTY?: boolean; columns?: number; rows?: number }) {
  const written: string[] = [];
  const stop = new AbortController();
  const write = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk));
      done();
    },
  });
  const stdout = Object.assign(write, size);
  return { written, stop, terminal: { stdout, stderr: stdout, signal: stop.signal, output: 'text' as const } };
}

for (const [columns, rows] of [
  [60, 40],
  [39, 12],
] as const) {
  test(`on a terminal of ${columns} x ${rows} it is shown again in place, and Ctrl-C ends it well`, async (t) => {
    const scene = await startAdminScene(t);
    makeBusy(scene);
    const { written, stop, terminal: shown } = terminal({ isTTY: true, columns, rows });
    let rounds = 0;
    const sleep = async () => {
      rounds += 1;
      if (rounds < 3) return;
      stop.abort(new Error('SIGINT'));
      stop.signal.throwIfAborted();
    };
    await watchStatus(shown, scene.server.url, { sleep });
    assert.equal(written.length, 3);
    const [first = '', second = '', third = ''] = written;
    const height = first
      .trimEnd()
      .split('\n')
      .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
    assert.ok(height < rows, `${height} of ${rows}`);
    assert.ok(second.startsWith(`\u001b[${height}A\u001b[J`), JSON.stringify(second.slice(0, 20)));
    assert.match(third, /Ctrl-C ends\.\n$/);
    assert.match(first, /^p<q: not ready; version 1\.2\.3, up 4 min\n/);
    assert.match(first, rows > 20 ? /^ {2}Prices +990 priced, 5 failing, 12 repaid$/m : /^… \d+ more lines$/m);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it must not be there.
    assert.doesNotMatch(first.replaceAll('\n', ''), /[\u0000-\u001f]/);
  });
}

test('elsewhere it is plain text, and it goes on while the connector is away', async (t) => {
  const scene = await startAdminScene(t);
  makeBusy(scene);
  const { written, stop, terminal: shown } = terminal({});
  let rounds = 0;
  const sleep = async () => {
    rounds += 1;
    if (rounds === 1) await scene.server.close();
    if (rounds < 3) return;
    stop.abort(new Error('SIGINT'));
    stop.signal.throwIfAborted();
  };
  await watchStatus(shown, scene.server.url, { sleep });
  assert.equal(written.length, 3);
  assert.ok(!written.join('').includes('\u001b'));
  assert.match(written[0] ?? '', /^p<q: not ready; .*\n[\s\S]*^instruments: RUNNING/m);
  assert.match(written[2] ?? '', /^No admin server responded at .* Trying again; this was at 2026-03-01T/);
});

test('watch ends with 1 where there is no connector, and with 0 when it is stopped', async (t) => {
  const scene = await startAdminScene(t);
  makeReady(scene);
  const stop = new AbortController();
  const watched = runWith(['status', '--watch', '--output', 'json', '--url', scene.server.url], {
    signal: stop.signal,
  });
  setTimeout(() => stop.abort(new Error('SIGINT', { cause: 'SIGINT' })), 3_000);
  const { code, stdout } = await watched;
  assert.equal(code, 0);
  for (const line of stdout.trimEnd().split('\n')) if (line !== '') assert.equal(JSON.parse(line).prefix, 'p<q');
  await scene.server.close();
  assert.equal((await runWith(['status', '--watch', '--url', scene.server.url])).code, 1);
});
