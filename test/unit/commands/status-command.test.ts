import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { makeReady, startAdminScene } from '../../support/connectors/admin-scene.ts';
import { connectorEnvironment, settingsText } from '../../support/connectors/connector-process.ts';
import { settingsFile } from '../../support/connectors/settings-file.ts';
import { NO_PROVIDER, NOWHERE } from './shell/nowhere.ts';
import { runWith } from './shell/terminal.ts';

test('status shows each source with its facts, or all as JSON, and says by its exit code whether it is ready', async (t) => {
  const scene = await startAdminScene(t);
  const config = await settingsFile(t, settingsText());
  const { port } = new URL(scene.server.url);
  const env = connectorEnvironment(NOWHERE, NO_PROVIDER, { TOPIC_PREFIX: 'p', ADMIN_PORT: port });
  const status = (...more: string[]) => runWith(['status', '--config', config, ...more], { env });
  const before = await status();
  assert.equal(before.code, 1);
  assert.match(before.stderr, /^Not ready: topics: not verified yet$/m);
  makeReady(scene);
  const { code, stdout } = await status();
  assert.equal(code, 0);
  assert.deepEqual(
    stdout.match(/^\S.*;/gm),
    ['instruments', 'checks', 'prices'].map((name) => `${name}: RUNNING for 0 s;`),
  );
  assert.match(stdout, /unread events are kept for 6 d 22 h/);
  assert.match((await status()).stderr, /^p<q: ready; version 1\.2\.3, up 0 s$/m);
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
  assert.match((await status()).stdout, /^checks: UNASSIGNED .*\n {2}Another replica runs it\.$/m);
  // Somebody elsewhere has the address alone.
  const remote = await runWith(['status', '--url', scene.server.url]);
  assert.deepEqual([remote.code, remote.stdout.match(/^\S/gm)?.length], [0, 3], remote.stderr);
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
});
