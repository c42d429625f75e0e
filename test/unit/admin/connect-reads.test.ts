import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeReady, startAdminScene } from '../../support/connectors/admin-scene.ts';

const WORKER = /^127\.0\.0\.1:\d+$/;

test('a worker says which version of Connect it speaks and which cluster it is at', async (t) => {
  const scene = await startAdminScene(t);
  assert.deepEqual(await (await scene.ask('/')).json(), {
    version: '4.3.1',
    commit: 'structured-products-connect-1.2.3',
    kafka_cluster_id: null,
  });
  makeReady(scene);
  const answer = await scene.ask('/', { headers: { accept: 'application/json' } });
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(((await answer.json()) as { kafka_cluster_id: string }).kafka_cluster_id, 'cluster-1');
});

test('a connector has a flat configuration, one task and its topics', async (t) => {
  const { ask } = await startAdminScene(t);
  const config = { name: 'instruments', 'connector.class': 'instruments' };
  const id = { connector: 'instruments', task: 0 };
  assert.deepEqual(await (await ask('/connectors/instruments')).json(), {
    name: 'instruments',
    config,
    tasks: [id],
    type: 'source',
  });
  assert.deepEqual(await (await ask('/connectors/instruments/config')).json(), config);
  assert.deepEqual(await (await ask('/connectors/instruments/tasks')).json(), [{ id, config }]);
  assert.deepEqual(await (await ask('/connectors/instruments/topics')).json(), {
    instruments: { topics: ['p.instruments'] },
  });
  assert.equal(((await (await ask('/connectors/prices')).json()) as { type: string }).type, 'sink');
});

interface Shown {
  readonly name: string;
  readonly type: string;
  readonly connector: { readonly state: string; readonly worker_id: string };
  readonly tasks: readonly { id: number; state: string; worker_id: string; trace?: string }[];
}

test('states are those of Connect, from unassigned to failed with a trace', async (t) => {
  const scene = await startAdminScene(t);
  const { board, operator } = scene;
  const states = async (name = 'instruments') => {
    const status = (await (await scene.ask(`/connectors/${name}/status`)).json()) as Shown;
    assert.match(status.connector.worker_id, WORKER);
    assert.deepEqual([status.name, status.type], [name, name === 'prices' ? 'sink' : 'source']);
    return [status.connector.state, ...status.tasks.map(({ state }) => state)];
  };
  assert.deepEqual(await states(), ['RUNNING', 'UNASSIGNED']);
  makeReady(scene);
  assert.deepEqual(await states(), ['RUNNING', 'RUNNING']);
  operator.wants('instruments', { state: 'paused' });
  board.events.sourcePaused({ source: 'instruments' });
  assert.deepEqual(await states(), ['PAUSED', 'PAUSED']);
  operator.wants('instruments', { state: 'stopped' });
  board.events.sourceStopped({ source: 'instruments' });
  assert.deepEqual(await states(), ['STOPPED']);
  assert.deepEqual(await (await scene.ask('/connectors/instruments/tasks')).json(), []);
  operator.wants('instruments', { state: 'running' });
  board.events.sourceFailed({ source: 'instruments', err: new Error('no <b>, hunter2') });
  assert.deepEqual(await states(), ['RUNNING', 'FAILED']);
  const task = await (await scene.ask('/connectors/instruments/tasks/0/status')).json();
  assert.deepEqual(Object.keys(task as object), ['id', 'state', 'worker_id', 'version', 'trace']);
  assert.equal((task as { trace: string }).trace, 'Error: no <b>, [redacted]');

  assert.deepEqual(await states('prices'), ['RUNNING', 'RUNNING']);
  operator.wants('prices', { state: 'paused' });
  assert.deepEqual(await states('prices'), ['PAUSED', 'PAUSED']);
  operator.wants('prices', { state: 'stopped' });
  assert.deepEqual(await states('prices'), ['STOPPED']);
});

test('plugins are the kinds of connectors', async (t) => {
  const { ask } = await startAdminScene(t);
  assert.deepEqual(await (await ask('/connector-plugins?connectorsOnly=true')).json(), [
    { class: 'instruments', type: 'source', version: '1.2.3' },
    { class: 'pre-trade-checks', type: 'source', version: '1.2.3' },
    { class: 'prices', type: 'sink', version: '1.2.3' },
  ]);
  assert.deepEqual(await (await ask('/connector-plugins/instruments/config')).json(), []);
  for (const name of ['nobody', 'struments']) {
    assert.equal((await ask(`/connector-plugins/${name}/config`)).status, 404);
  }
});
