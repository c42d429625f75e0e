import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { type AdminScene, makeReady, startAdminScene } from '../../support/connectors/admin-scene.ts';

/*
 * How a worker of Kafka Connect 4.3.1 (distributed, with its file connectors under the names of our test's) answered these
 * requests, status and shape: where a text, number or truth value stands, its type; configurations, partitions and
 * offsets, which have keys of their own, as 'map'; errors and messages letter by letter.
 */

interface ConnectAnswer {
  /** What the connector named `instruments` is doing. */
  readonly while: 'running' | 'failed' | 'stopped';
  readonly request: `${'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE'} /${string}`;
  readonly body?: unknown;
  readonly status: number;
  /** Null: nothing is sent. */
  readonly shape: unknown;
}

const connector = { state: 'string', worker_id: 'string', version: 'string' };
const task = { id: 'number', ...connector };
const status = { name: 'string', connector, tasks: [task], type: 'string' };
const stopped = { ...status, tasks: [] };
const info = { name: 'string', config: 'map', tasks: [{ connector: 'string', task: 'number' }], type: 'string' };
const everyone = (shape: unknown) => ({ instruments: shape, checks: shape, prices: shape });
const error = (error_code: number, message: string) => ({ status: error_code, shape: { error_code, message } });
const notAllowed = error(405, 'HTTP 405 Method Not Allowed');
const nothing = (code: number) => ({ status: code, shape: null });
const unknownConnector = error(404, 'Connector nobody not found');
const unknownToChange = error(404, 'Unknown connector nobody');
const unknownToRestart = error(404, 'Unknown connector: nobody');
const noOffsets = error(400, 'Partitions / offsets need to be provided for an alter offsets request');
const notStopped = error(
  400,
  'Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the specified ' +
    "connector by issuing a 'PUT' request to the '/connectors/instruments/stop' endpoint",
);
const someOffsets = { offsets: [{ partition: { a: 'b' }, offset: { c: 1 } }] };

const RUNNING: readonly Omit<ConnectAnswer, 'while'>[] = [
  { request: 'GET /', status: 200, shape: { version: 'string', commit: 'string', kafka_cluster_id: 'string' } },
  {
    request: 'GET /health',
    status: 200,
    shape: { status: 'string', message: 'Worker has completed startup and is ready to handle requests.' },
  },
  { request: 'GET /connectors', status: 200, shape: ['string'] },
  { request: 'GET /connectors/', status: 200, shape: ['string'] },
  { request: 'GET /connectors?expand=status', status: 200, shape: everyone({ status }) },
  { request: 'GET /connectors?expand=info', status: 200, shape: everyone({ info }) },
  { request: 'GET /connectors?expand=info&expand=status', status: 200, shape: everyone({ info, status }) },
  { request: 'GET /connectors?expand=info,status', status: 200, shape: everyone({}) },
  { request: 'GET /connectors/instruments', status: 200, shape: info },
  { request: 'GET /connectors/instruments/', status: 200, shape: info },
  { request: 'GET /connectors/nobody', ...unknownConnector },
  { request: 'GET /connectors/instruments/config', status: 200, shape: 'map' },
  { request: 'GET /connectors/nobody/config', ...unknownConnector },
  { request: 'PATCH /connectors/nobody/config', body: { 'tasks.max': '1' }, ...unknownConnector },
  { request: 'DELETE /connectors/nobody', ...unknownConnector },
  { request: 'GET /connectors/instruments/status', status: 200, shape: status },
  { request: 'GET /connectors/nobody/status', ...error(404, 'No status found for connector nobody') },
  {
    request: 'GET /connectors/instruments/tasks',
    status: 200,
    shape: [{ id: { connector: 'string', task: 'number' }, config: 'map' }],
  },
  { request: 'GET /connectors/nobody/tasks', ...unknownConnector },
  { request: 'GET /connectors/instruments/tasks-config', ...error(404, 'HTTP 404 Not Found') },
  { request: 'GET /connectors/instruments/tasks/0/status', status: 200, shape: task },
  { request: 'GET /connectors/instruments/tasks/7/status', ...error(404, 'No status found for task instruments-7') },
  { request: 'GET /connectors/nobody/tasks/0/status', ...error(404, 'No status found for task nobody-0') },
  { request: 'GET /connectors/instruments/topics', status: 200, shape: { instruments: { topics: ['string'] } } },
  {
    request: 'GET /connectors/instruments/offsets',
    status: 200,
    shape: { offsets: [{ partition: 'map', offset: 'map' }] },
  },
  { request: 'GET /connectors/nobody/offsets', ...unknownConnector },
  { request: 'PATCH /connectors/instruments/offsets', body: {}, ...noOffsets },
  { request: 'PATCH /connectors/instruments/offsets', body: { offsets: [] }, ...noOffsets },
  { request: 'PATCH /connectors/instruments/offsets', body: someOffsets, ...notStopped },
  { request: 'PATCH /connectors/nobody/offsets', body: someOffsets, ...unknownConnector },
  { request: 'DELETE /connectors/instruments/offsets', ...notStopped },
  { request: 'DELETE /connectors/nobody/offsets', ...unknownConnector },
  { request: 'PUT /connectors/checks/pause', ...nothing(202) },
  { request: 'PUT /connectors/checks/resume', ...nothing(202) },
  { request: 'PUT /connectors/nobody/pause', ...unknownToChange },
  { request: 'PUT /connectors/nobody/resume', ...unknownToChange },
  { request: 'PUT /connectors/nobody/stop', ...unknownToChange },
  { request: 'POST /connectors/instruments/restart', ...nothing(204) },
  { request: 'POST /connectors/instruments/restart?includeTasks=x&onlyFailed=', ...nothing(204) },
  { request: 'POST /connectors/instruments/restart?includeTasks=TRUE', status: 202, shape: status },
  { request: 'POST /connectors/instruments/restart?onlyFailed=true', status: 202, shape: status },
  { request: 'POST /connectors/nobody/restart', ...unknownToRestart },
  { request: 'POST /connectors/instruments/tasks/0/restart', ...nothing(204) },
  { request: 'POST /connectors/instruments/tasks/7/restart', ...error(404, 'Unknown task: instruments-7') },
  { request: 'POST /connectors/nobody/tasks/0/restart', ...unknownToRestart },
  { request: 'PUT /connectors/instruments/topics/reset', ...nothing(202) },
  {
    request: 'GET /connector-plugins',
    status: 200,
    shape: [{ class: 'string', type: 'string', version: 'string' }],
  },
  { request: 'GET /connector-plugins/nobody/config', ...error(404, 'Unknown plugin nobody.') },
  { request: 'GET /connectors/instruments/pause', ...notAllowed },
  { request: 'GET /connectors/instruments/restart', ...notAllowed },
  { request: 'POST /connectors/instruments', ...notAllowed },
  { request: 'PUT /connectors', ...notAllowed },
  { request: 'DELETE /connectors', ...notAllowed },
  { request: 'GET /connectors/instruments/nothing', ...error(404, 'HTTP 404 Not Found') },
  { request: 'GET /nothing', ...error(404, 'HTTP 404 Not Found') },
];

const FAILED: readonly Omit<ConnectAnswer, 'while'>[] = [
  {
    request: 'GET /connectors/instruments/status',
    status: 200,
    shape: { ...status, tasks: [{ ...task, trace: 'string' }] },
  },
  { request: 'GET /connectors/instruments/tasks/0/status', status: 200, shape: { ...task, trace: 'string' } },
  {
    request: 'POST /connectors/instruments/restart?includeTasks=true&onlyFailed=true',
    status: 202,
    shape: { ...status, tasks: [{ ...task, trace: 'string' }] },
  },
];

const STOPPED: readonly Omit<ConnectAnswer, 'while'>[] = [
  { request: 'GET /connectors/instruments', status: 200, shape: { ...info, tasks: [] } },
  { request: 'GET /connectors/instruments/status', status: 200, shape: stopped },
  { request: 'GET /connectors/instruments/tasks', status: 200, shape: [] },
  { request: 'GET /connectors/instruments/tasks/0/status', ...error(404, 'No status found for task instruments-0') },
  { request: 'PUT /connectors/instruments/stop', ...nothing(204) },
  { request: 'POST /connectors/instruments/restart', ...nothing(204) },
  { request: 'POST /connectors/instruments/restart?includeTasks=true', status: 202, shape: stopped },
  { request: 'PATCH /connectors/instruments/offsets', body: { offsets: null }, ...noOffsets },
  {
    request: 'DELETE /connectors/instruments/offsets',
    status: 200,
    shape: { message: 'The offsets for this connector have been reset successfully' },
  },
  { request: 'GET /connectors/instruments/offsets', status: 200, shape: { offsets: [] } },
];

const CONNECT_ANSWERS: readonly ConnectAnswer[] = [
  ...RUNNING.map((answer) => ({ while: 'running', ...answer }) as const),
  ...FAILED.map((answer) => ({ while: 'failed', ...answer }) as const),
  ...STOPPED.map((answer) => ({ while: 'stopped', ...answer }) as const),
];

/** Of an answer, in the terms above: of a list its members' shape, which must be one. */
function shapeOf(value: unknown, key?: string): unknown {
  if (value === null) return 'null';
  if (typeof value !== 'object') return key === 'error_code' || key === 'message' ? value : typeof value;
  if (Array.isArray(value)) return distinct(value.map((member) => shapeOf(member)));
  if (key === 'config' || key === 'partition' || key === 'offset' || 'connector.class' in value) return 'map';
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member, name)]));
}

function distinct(shapes: readonly unknown[]): readonly unknown[] {
  return [...new Set(shapes.map((shape) => JSON.stringify(shape)))].map((text) => JSON.parse(text) as unknown);
}

const OFFSETS = '/connectors/instruments/offsets';

interface Shown {
  readonly name: string;
  readonly type: string;
  readonly message: string;
  readonly error_code: number;
  readonly kafka_cluster_id: string;
  readonly connector: { readonly state: string; readonly worker_id: string };
  readonly tasks: readonly { readonly state: string; readonly trace?: string }[];
}

const shownBy = async (answer: Promise<Response>) => (await (await answer).json()) as Shown;

const arrange: Readonly<Record<ConnectAnswer['while'], (scene: AdminScene) => void>> = {
  running: () => {},
  failed: ({ board }) => board.events.sourceFailed({ source: 'instruments', err: new Error('x') }),
  stopped({ board, operator }) {
    operator.wants('instruments', { state: 'stopped' });
    board.events.sourceStopped({ source: 'instruments' });
  },
};

for (const state of ['running', 'failed', 'stopped'] as const) {
  test(`while a connector is ${state}, each request is answered in the shape of Kafka Connect`, async (t) => {
    const scene = await startAdminScene(t);
    makeReady(scene);
    arrange[state](scene);
    for (const wanted of CONNECT_ANSWERS.filter((answer) => answer.while === state)) {
      const { request, body, status, shape } = wanted;
      const [method = '', path = ''] = request.split(' ');
      const answer = await scene.change(method, path, body);
      const text = await answer.text();
      const found = text === '' ? null : shapeOf(JSON.parse(text));
      assert.deepEqual({ request, status: answer.status, shape: found }, { request, status, shape });
    }
  });
}

test('a worker says which version of Connect it speaks and which cluster it is at', async (t) => {
  const scene = await startAdminScene(t);
  const commit = 'structured-products-connect-1.2.3';
  assert.deepEqual(await shownBy(scene.ask('/')), { version: '4.3.1', commit, kafka_cluster_id: null });
  makeReady(scene);
  const answer = await scene.ask('/', { headers: { accept: 'application/json' } });
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
  assert.equal(((await answer.json()) as Shown).kafka_cluster_id, 'cluster-1');
});

test('a connector has a flat configuration, one task and its topics; plugins are the kinds of connectors', async (t) => {
  const { ask } = await startAdminScene(t);
  const config = { name: 'instruments', 'connector.class': 'instruments' };
  const id = { connector: 'instruments', task: 0 };
  const plugin = (name: string, type: string) => ({ class: name, type, version: '1.2.3' });
  for (const [path, shown] of [
    ['/connectors/instruments', { name: 'instruments', config, tasks: [id], type: 'source' }],
    ['/connectors/instruments/config', config],
    ['/connectors/instruments/tasks', [{ id, config }]],
    ['/connectors/instruments/topics', { instruments: { topics: ['p.instruments'] } }],
    ['/connector-plugins/instruments/config', []],
    [
      '/connector-plugins?connectorsOnly=true',
      [plugin('instruments', 'source'), plugin('pre-trade-checks', 'source'), plugin('prices', 'sink')],
    ],
  ] as const) {
    assert.deepEqual(await shownBy(ask(path)), shown, path);
  }
  assert.equal((await shownBy(ask('/connectors/prices'))).type, 'sink');
  assert.equal((await ask('/connector-plugins/struments/config')).status, 404);
});

test('states are those of Connect, from unassigned to failed with a trace', async (t) => {
  const scene = await startAdminScene(t);
  const { board, operator } = scene;
  const source = 'instruments';
  const states = async (name = source) => {
    const status = await shownBy(scene.ask(`/connectors/${name}/status`));
    assert.match(status.connector.worker_id, /^127\.0\.0\.1:\d+$/);
    assert.deepEqual([status.name, status.type], [name, name === 'prices' ? 'sink' : 'source']);
    return [status.connector.state, ...status.tasks.map(({ state }) => state)].join(' ');
  };
  assert.equal(await states(), 'RUNNING UNASSIGNED');
  makeReady(scene);
  assert.equal(await states(), 'RUNNING RUNNING');
  operator.wants(source, { state: 'paused' });
  board.events.sourcePaused({ source });
  assert.equal(await states(), 'PAUSED PAUSED');
  operator.wants(source, { state: 'stopped' });
  board.events.sourceStopped({ source });
  assert.equal(await states(), 'STOPPED');
  assert.deepEqual(await shownBy(scene.ask('/connectors/instruments/tasks')), []);
  operator.wants(source, { state: 'running' });
  board.events.sourceFailed({ source, err: new Error('no <b>, hunter2') });
  assert.equal(await states(), 'RUNNING FAILED');
  const task = await shownBy(scene.ask('/connectors/instruments/tasks/0/status'));
  assert.deepEqual(Object.keys(task), ['id', 'state', 'worker_id', 'version', 'trace']);
  assert.equal((task as { trace?: string }).trace, 'Error: no <b>, [redacted]');
  for (const [state, shown] of [
    ['running', 'RUNNING RUNNING'],
    ['paused', 'PAUSED PAUSED'],
    ['stopped', 'STOPPED'],
  ] as const) {
    operator.wants('prices', { state });
    assert.equal(await states('prices'), shown);
  }
});

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
  const { connector, tasks } = await shownBy(
    scene.change('POST', '/connectors/checks/restart?includeTasks=true&onlyFailed=true'),
  );
  assert.deepEqual([connector.state, tasks.map(({ state }) => state)], ['RUNNING', ['RESTARTING']]);
  assert.deepEqual(scene.asked, ['restart checks if it has failed']);
  const all = await shownBy(scene.change('POST', '/connectors/checks/restart?includeTasks=true'));
  assert.equal(all.connector.state, 'RESTARTING');
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
    const { error_code, message } = (await answer.json()) as Shown;
    assert.deepEqual([answer.status, error_code], [status, status], path);
    assert.match(message, /settings file .*\(\/etc\/own\.yaml\)/);
  }
});

test('offsets are shown always, and altered or reset only of a stopped source', async (t) => {
  const scene = await startAdminScene(t);
  const shown = await shownBy(scene.ask(OFFSETS));
  assert.deepEqual(shown, { offsets: [{ partition: { endpoint: 'instruments' }, offset: { since: '5-1', walk: 2 } }] });
  for (const method of ['PATCH', 'DELETE']) {
    const refused = await scene.change(method, OFFSETS, shown);
    assert.equal(refused.status, 400);
    assert.match(((await refused.json()) as Shown).message, /must be in the STOPPED state/);
  }
  scene.operator.wants('instruments', { state: 'stopped' });
  const message = (what: string) => ({ message: `The offsets for this connector have been ${what} successfully` });
  assert.deepEqual(await shownBy(scene.change('PATCH', OFFSETS, shown)), message('altered'));
  assert.deepEqual(await shownBy(scene.change('DELETE', OFFSETS)), message('reset'));
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
    assert.equal((await scene.change('PATCH', OFFSETS, body)).status, 400);
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
  assert.equal((await scene.change('PATCH', OFFSETS, 'x'.repeat(70_000))).status, 413);
  const headers = { authorization: 'Bearer a-token-for-tests', 'content-type': 'application/json' };
  const cut = await scene.ask(OFFSETS, { method: 'PATCH', headers, body: '{"offsets":' });
  assert.equal(cut.status, 400);
  assert.deepEqual(await cut.json(), { error_code: 400, message: 'The body is not JSON.' });
});
