import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { makeReady, startAdminScene } from '../../support/connectors/admin-scene.ts';

const requests: readonly [method: string, path: string, status: number, asked: readonly string[]][] = [
  ['PUT', '/connectors/instruments/pause', 202, ['want instruments paused']],
  ['PUT', '/connectors/instruments/resume', 202, ['want instruments running']],
  ['PUT', '/connectors/instruments/stop', 204, ['want instruments stopped']],
  ['PUT', '/connectors/prices/pause', 202, ['want prices paused']],
  ['POST', '/connectors/instruments/restart', 204, ['restart instruments']],
  ['POST', '/connectors/instruments/restart?includeTasks=false&onlyFailed=false', 204, ['restart instruments']],
  ['POST', '/connectors/instruments/restart?includeTasks=true', 202, ['restart instruments']],
  [
    'POST',
    '/connectors/instruments/restart?includeTasks=true&onlyFailed=true',
    202,
    ['restart instruments if it has failed'],
  ],
  ['POST', '/connectors/instruments/tasks/0/restart', 204, ['restart instruments']],
  ['PUT', '/connectors/instruments/topics/reset', 202, []],
  ['PUT', '/connectors/nobody/pause', 404, []],
  ['POST', '/connectors/instruments/tasks/7/restart', 404, []],
];
for (const [method, path, status, asked] of requests) {
  test(`${method} ${path} is answered with ${status}`, async (t) => {
    const scene = await startAdminScene(t);
    makeReady(scene);
    const answer = await scene.change(method, path);
    assert.equal(answer.status, status, await answer.text());
    assert.deepEqual(scene.asked, asked);
  });
}

test('a failed connector restarts when only failed ones shall, and is shown as restarting', async (t) => {
  const scene = await startAdminScene(t);
  makeReady(scene);
  scene.board.events.sourceFailed({ source: 'checks', err: new Error('x') });
  const answer = await scene.change('POST', '/connectors/checks/restart?includeTasks=true&onlyFailed=true');
  assert.equal(answer.status, 202);
  interface Shown {
    readonly connector: { readonly state: string };
    readonly tasks: readonly { readonly state: string; readonly trace?: string }[];
  }
  const { connector, tasks } = (await answer.json()) as Shown;
  assert.deepEqual([connector.state, tasks.map(({ state }) => state)], ['RUNNING', ['RESTARTING']]);
  assert.deepEqual(scene.asked, ['restart checks if it has failed']);
  const all = await scene.change('POST', '/connectors/checks/restart?includeTasks=true');
  assert.equal(((await all.json()) as Shown).connector.state, 'RESTARTING');
});

for (const [method, path, status] of [
  ['POST', '/connectors', 400],
  ['PUT', '/connectors/instruments/config', 400],
  ['PATCH', '/connectors/instruments/config', 400],
  ['DELETE', '/connectors/instruments', 405],
] as const) {
  test(`${method} ${path} is refused: configuration is a file`, async (t) => {
    const scene = await startAdminScene(t);
    const answer = await scene.change(method, path, { name: 'x', config: {} });
    const { error_code, message } = (await answer.json()) as { error_code: number; message: string };
    assert.deepEqual([answer.status, error_code], [status, status]);
    assert.match(message, /settings file .*config\/connector\.yaml/);
  });
}

test('offsets are shown always, and altered or reset only of a stopped source', async (t) => {
  const scene = await startAdminScene(t);
  const shown = await (await scene.ask('/connectors/instruments/offsets')).json();
  assert.deepEqual(shown, { offsets: [{ partition: { endpoint: 'instruments' }, offset: { since: '5-1', walk: 2 } }] });
  for (const method of ['PATCH', 'DELETE']) {
    const refused = await scene.change(method, '/connectors/instruments/offsets', shown);
    assert.equal(refused.status, 400);
    assert.match(((await refused.json()) as { message: string }).message, /must be in the STOPPED state/);
  }
  scene.operator.wants('instruments', { state: 'stopped' });
  const altered = await scene.change('PATCH', '/connectors/instruments/offsets', shown);
  assert.deepEqual(await altered.json(), {
    message: 'The offsets for this connector have been altered successfully',
  });
  const reset = await scene.change('DELETE', '/connectors/instruments/offsets');
  assert.deepEqual(await reset.json(), { message: 'The offsets for this connector have been reset successfully' });
  assert.deepEqual(scene.asked, ['alter instruments {"since":"5-1","walk":2}', 'alter instruments null']);
  assert.equal((await scene.change('DELETE', '/connectors/prices/offsets')).status, 400);
});

const offset = { since: '6-1' };
const partition = { endpoint: 'instruments' };
for (const body of [
  undefined,
  [],
  {},
  { offsets: [] },
  { offsets: [{ offset }] },
  { offsets: [{ partition: { endpoint: 'other' }, offset }] },
  { offsets: [{ partition, offset: { since: { deep: 1 } } }] },
  { offsets: [{ partition, offset: {} }] },
  { offsets: [{ partition, offset: 'text' }] },
  {
    offsets: [
      { partition, offset },
      { partition, offset },
    ],
  },
]) {
  test(`an offset that is none is refused: ${JSON.stringify(body)}`, async (t) => {
    const scene = await startAdminScene(t);
    scene.operator.wants('instruments', { state: 'stopped' });
    assert.equal((await scene.change('PATCH', '/connectors/instruments/offsets', body)).status, 400);
    assert.deepEqual(scene.asked, []);
  });
}

test('what Kafka refuses is reported with its code, what nobody expected is not', async (t) => {
  const scene = await startAdminScene(t);
  scene.failure = new ConnectorError('KAFKA_UNREACHABLE', 'No broker answers.');
  const reported = await scene.change('PUT', '/connectors/checks/pause');
  assert.equal(reported.status, 500);
  assert.deepEqual(await reported.json(), { error_code: 500, message: 'KAFKA_UNREACHABLE: No broker answers.' });
  scene.failure = new Error('/home/secret');
  const hidden = await scene.change('PUT', '/connectors/checks/pause');
  assert.deepEqual(await hidden.json(), { error_code: 500, message: 'Internal Server Error' });
});

test('bodies that are too large or no JSON are refused', async (t) => {
  const scene = await startAdminScene(t);
  scene.operator.wants('instruments', { state: 'stopped' });
  assert.equal((await scene.change('PATCH', '/connectors/instruments/offsets', 'x'.repeat(70_000))).status, 413);
  const headers = { authorization: 'Bearer a-token-for-tests', 'content-type': 'application/json' };
  const cut = await scene.ask('/connectors/instruments/offsets', { method: 'PATCH', headers, body: '{"offsets":' });
  assert.equal(cut.status, 400);
  assert.deepEqual(await cut.json(), { error_code: 400, message: 'The body is not JSON.' });
});
