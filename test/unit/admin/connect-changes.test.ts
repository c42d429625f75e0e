import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { makeReady, startAdminScene } from '../../support/connectors/admin-scene.ts';

test('a change is asked for once, of the connector that its path names', async (t) => {
  const scene = await startAdminScene(t);
  makeReady(scene);
  const asked = scene.asked as string[];
  for (const [method, path, ...wanted] of [
    ['PUT', 'instruments/pause', 'want instruments paused'],
    ['PUT', 'instruments/resume', 'want instruments running'],
    ['PUT', 'instruments/stop', 'want instruments stopped'],
    ['PUT', 'prices/pause', 'want prices paused'],
    ['POST', 'instruments/restart?includeTasks=false&onlyFailed=false', 'restart instruments'],
    ['POST', 'instruments/restart?includeTasks=true&onlyFailed=true', 'restart instruments if it has failed'],
    ['POST', 'instruments/tasks/0/restart', 'restart instruments'],
    ['PUT', 'instruments/topics/reset'],
    ['PUT', 'nobody/pause'],
    ['POST', 'instruments/tasks/7/restart'],
  ] as const) {
    await scene.change(method, `/connectors/${path}`);
    assert.deepEqual(asked.splice(0), wanted, path);
  }
});

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

test('configuration is a file: it is not changed from here', async (t) => {
  const scene = await startAdminScene(t);
  for (const [method, path, status] of [
    ['POST', '/connectors', 400],
    ['PUT', '/connector-plugins/instruments/config/validate', 400],
    ['PUT', '/connectors/instruments/config', 400],
    ['PATCH', '/connectors/instruments/config', 400],
    ['DELETE', '/connectors/instruments', 405],
  ] as const) {
    const answer = await scene.change(method, path, { name: 'x', config: {} });
    const { error_code, message } = (await answer.json()) as { error_code: number; message: string };
    assert.deepEqual([answer.status, error_code], [status, status], path);
    assert.match(message, /settings file .*config\/connector\.yaml/);
  }
});

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

test('an offset that is none is refused', async (t) => {
  const scene = await startAdminScene(t);
  scene.operator.wants('instruments', { state: 'stopped' });
  const partition = { endpoint: 'instruments' };
  const right = { partition, offset: { since: '6-1' } };
  const wrong = [
    [],
    [{ offset: right.offset }],
    [{ partition: { endpoint: 'other' }, offset: right.offset }],
    ...[{ since: { deep: 1 } }, {}, 'text'].map((offset) => [{ partition, offset }]),
    [right, right],
  ];
  for (const body of [undefined, [], {}, ...wrong.map((offsets) => ({ offsets }))]) {
    assert.equal((await scene.change('PATCH', '/connectors/instruments/offsets', body)).status, 400);
  }
  assert.deepEqual(scene.asked, []);
});

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
