import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { watchStatus } from '../../../src/commands/status-command.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { type AdminScene, makeReady, startAdminScene } from '../../support/connectors/admin-scene.ts';
import { connectorEnvironment, settingsText } from '../../support/connectors/connector-process.ts';
import { settingsFile } from '../../support/connectors/settings-file.ts';
import { serve } from '../provider/http/loopback.ts';
import { NO_PROVIDER, NOWHERE, runWith } from './shell/terminal.ts';

test('status shows each source with its facts, or all as JSON, and says by its exit code whether it is ready', async (t) => {
  const scene = await startAdminScene(t);
  const config = await settingsFile(t, settingsText());
  const { port } = new URL(scene.server.url);
  const env = connectorEnvironment(NOWHERE, NO_PROVIDER, {
    TOPIC_PREFIX: 'p',
    ADMIN_ENABLED: 'true',
    ADMIN_PORT: port,
  });
  const status = (...more: string[]) => runWith(['status', '--config', config, ...more], { env });
  const before = await status();
  assert.equal(before.code, 1);
  assert.match(before.stdout, /^Not ready: topics: not verified yet$/m);
  const unreachable = new ConnectorError('KAFKA_UNREACHABLE', 'No broker answered.');
  scene.board.events.attemptFailed({ part: 'topics', failures: 1, waitMs: 1, err: unreachable });
  assert.match(
    (await status()).stdout,
    /^Not ready: topics: KAFKA_UNREACHABLE: No broker answered\. Start the brokers/m,
  );
  makeReady(scene);
  const { code, stdout } = await status();
  assert.equal(code, 0);
  assert.deepEqual(
    stdout.match(/^\S.*;/gm)?.slice(-3),
    ['instruments', 'checks', 'prices'].map((name) => `${name}: RUNNING for 0 s;`),
  );
  assert.match(stdout, /unread events are kept for 6 d 22 h/);
  assert.match((await status()).stdout, /^p<q: ready; version 1\.2\.3, up 0 s$/m);
  const json = await status('--output', 'json', '--url', `${scene.server.url}/`);
  assert.equal(JSON.parse(json.stdout).sources[0].name, 'instruments');
  scene.now += 700_000_000;
  assert.match((await status()).stdout, /^ {2}Retention +events may be lost\n {2}Written +0 instruments, 0 events$/m);
  const err = new ConnectorError('PROVIDER_BUSY', 'The provider answered with 503.');
  scene.board.events.attemptFailed({ source: 'instruments', failures: 4, waitMs: 30_000, err });
  const trying = await status();
  assert.equal(trying.code, 0, 'it is ready all the same');
  assert.match(
    trying.stdout,
    /^instruments: RUNNING, retrying .*\n {2}Retrying +4 failures in a row, next try in 30 s\. PROVIDER_BUSY: The provider answered with 503\./m,
  );
  scene.board.events.replicaJoined({ partitions: [], sources: [] });
  assert.match(
    (await status()).stdout,
    /^checks: UNASSIGNED .*\n {2}Its partition belongs to another replica, which shows its state\.$/m,
  );
  // Somebody elsewhere has the address alone.
  const remote = await runWith(['status', '--url', scene.server.url]);
  assert.deepEqual([remote.code, remote.stdout.match(/^\S/gm)?.length, remote.stderr], [0, 5, '']);
  const noAddress = await runWith(['status', '--url', 'connector:8083']);
  assert.equal(noAddress.code, 2);
  assert.match(noAddress.stderr, /Expected a URL like http:/);
  await scene.server.close();
  const gone = await status();
  assert.equal(gone.code, 1);
  assert.match(
    gone.stderr,
    /^ADMIN_UNREACHABLE: No admin server responded at http:\/\/127\.0\.0\.1:\d+ \(.*\)\.\nStart/,
  );
  const turnedOff = await runWith(['status', '--config', config], { env: { ...env, ADMIN_ENABLED: 'false' } });
  assert.deepEqual([turnedOff.code, turnedOff.stderr.includes('(admin.enabled: false)')], [1, true], turnedOff.stderr);
});

test('the reason of an admin server that refuses the request is shown', async (t) => {
  const { url } = await serve(t, (_, response) => {
    response.writeHead(403, { 'content-type': 'application/json' });
    response.end('{"error_code":403,"message":"Use the address of this server."}');
  });
  const { code, stderr } = await runWith(['status', '--url', url]);
  const reason = 'refused the request (status 403): Use the address of this server.';
  assert.deepEqual([code, stderr], [1, `ADMIN_UNREACHABLE: The server at ${url} ${reason}\n`]);
});

const AGES = [1, 10, 60, Number.POSITIVE_INFINITY].map((seconds, at) => ({
  atMostMs: seconds * 1_000,
  instruments: [100, 700, 1_000, 1_000][at] ?? 0,
}));

function makeBusy(scene: AdminScene): void {
  makeReady(scene);
  const { board } = scene;
  const source = 'instruments';
  for (const items of [0, 3, 8, 5]) {
    board.events.streamCommitted({ source, items, deadLetters: items === 3 ? 1 : 0 } as never);
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

/** What `status --watch` writes in three rounds, before Ctrl-C. */
async function watched(scene: AdminScene, size: { isTTY?: boolean; columns?: number; rows?: number }) {
  const written: string[] = [];
  const stop = new AbortController();
  const write = new Writable({
    write(chunk, _encoding, done) {
      written.push(String(chunk));
      done();
    },
  });
  const stdout = Object.assign(write, size);
  let rounds = 0;
  const sleep = async () => {
    rounds += 1;
    if (rounds === 1 && !size.isTTY) await scene.server.close();
    if (rounds === 3) stop.abort(new Error('SIGINT'));
    stop.signal.throwIfAborted();
  };
  await watchStatus({ stdout, stderr: stdout, signal: stop.signal, output: 'text' }, scene.server.url, { sleep });
  assert.equal(written.length, 3);
  return written;
}

for (const [columns, rows] of [
  [60, 40],
  [39, 12],
] as const) {
  test(`on a terminal of ${columns} x ${rows} it is shown again in place, and Ctrl-C ends it well`, async (t) => {
    const scene = await startAdminScene(t);
    makeBusy(scene);
    for (const text of await watched(scene, { isTTY: true, columns, rows })) {
      assert.ok(text.startsWith('\u001b[H\u001b[J'), JSON.stringify(text.slice(0, 20)));
      const lines = text.slice(6).trimEnd().split('\n');
      const height = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
      assert.ok(height < rows, `${height} of ${rows}`);
      assert.match(lines[0] ?? '', /^p<q: not ready; version 1\.2\.3, up 4 min$/);
      assert.equal(/^ {2}Prices +990 priced, 5 failing, 12 repaid$/m.test(text), rows > 20);
      assert.doesNotMatch(lines.join(''), /\p{Cc}/u);
    }
  });
}

test('elsewhere it is plain text, and it goes on while the connector is away', async (t) => {
  const scene = await startAdminScene(t);
  makeBusy(scene);
  const written = await watched(scene, {});
  assert.ok(!written.join('').includes('\u001b'));
  assert.match(written[0] ?? '', /^p<q: not ready; .*\n[\s\S]*^instruments: RUNNING/m);
  assert.match(written[2] ?? '', /^No admin server responded at .* Trying again\. The status of 2026-03-01T/);
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
