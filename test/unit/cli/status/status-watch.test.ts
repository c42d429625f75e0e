import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { requestStatus } from '../../../../src/admin/status/status-request.ts';
import { statusScreen } from '../../../../src/cli/status/status-screen.ts';
import { watchStatus } from '../../../../src/cli/status/status-watch.ts';
import { type AdminScene, makeReady, startAdminScene } from '../../../support/connectors/admin-scene.ts';
import { runWith } from '../terminal.ts';

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
  board.events.walkStarted({ source, walk: 7, since: '5-1', why: 'due' });
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
  board.processorEvents.processorStarted({ groupId: 'g', topics: ['i'], kinds: ['overview'], freshness });
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
  return { written, stop, terminal: { arguments: [], env: {}, stdout, stderr: stdout, signal: stop.signal } };
}

const urlOf = (scene: AdminScene) => ({ base: scene.server.url, output: 'text' }) as const;

test('the screen fits every terminal, in width and in height', async (t) => {
  const scene = await startAdminScene(t);
  makeBusy(scene);
  const status = await requestStatus(scene.server.url, new AbortController().signal);
  for (const columns of [20, 39, 80, 200]) {
    for (const rows of [5, 24, 100]) {
      const lines = statusScreen(status, { columns, rows });
      assert.ok(lines.length <= rows, `${lines.length} lines of ${rows}`);
      for (const line of lines) assert.ok(line.length <= columns, `${columns}: ${line}`);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: it must not be there.
      assert.doesNotMatch(lines.join(''), /[\u0000-\u001f]/);
    }
  }
});

test('the screen draws what the page draws', async (t) => {
  const scene = await startAdminScene(t);
  makeBusy(scene);
  const status = await requestStatus(scene.server.url, new AbortController().signal);
  const wide = statusScreen(status, { columns: 120, rows: 100 }).join('\n');
  assert.match(wide, /^p<q: not ready; version 1\.2\.3, up 4 min$/m);
  assert.match(
    wide,
    /^ {2}events a minute 5 in the last minute; 4 on average and at most 8 since the start 4 min ago\n +▃█▅$/m,
  );
  assert.match(
    wide,
    /^ {2}prices by age {3}half below 8 s, 99 % below 59 s\n +1 s █+ 100\n +10 s █{40} 600\n +1 min █{20} 300\n +older 0$/m,
  );
  assert.match(wide, /^ {2}retention {7}█{20} events are kept for 6 d 22 h$/m);
  assert.match(wide, /990 of 1,007 priced, 12 repaid, 2 overdue, 5 failing \(none: 5\)/);
  assert.match(
    wide,
    /^Dead letters: instruments: 1; see spconnect dead-letters list --source instruments --since 1d$/m,
  );
  const low = statusScreen(status, { columns: 120, rows: 24 }).join('\n');
  assert.match(low, /^ +1 s ▁█▄ {2}older$/m);
});

test('on a terminal the screen is drawn again in place, and Ctrl-C ends it well', async (t) => {
  const scene = await startAdminScene(t);
  makeBusy(scene);
  const { written, stop, terminal: shown } = terminal({ isTTY: true, columns: 60, rows: 40 });
  let rounds = 0;
  const sleep = async () => {
    rounds += 1;
    if (rounds < 3) return;
    stop.abort(new Error('SIGINT'));
    stop.signal.throwIfAborted();
  };
  await watchStatus({ ...urlOf(scene), terminal: shown, clock: { sleep } });
  assert.equal(written.length, 3);
  const lines = (written[0] ?? '').split('\n').length - 1;
  assert.ok(written[1]?.startsWith(`\u001b[${lines}A\u001b[J`), JSON.stringify(written[1]?.slice(0, 20)));
  assert.match(written[2] ?? '', /Ctrl-C ends\.\n$/);
});

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
  await watchStatus({ ...urlOf(scene), terminal: shown, clock: { sleep } });
  assert.equal(written.length, 3);
  assert.ok(!written.join('').includes('\u001b'));
  assert.match(written[0] ?? '', /^p<q: not ready; .*\n[\s\S]*^instruments +running/m);
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
