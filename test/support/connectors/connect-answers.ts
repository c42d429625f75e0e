/*
 * How a worker of Kafka Connect 4.3.1 (distributed, with its file connectors under the names of our test's) answered these
 * requests, status and shape: where a text, number or truth value stands, its type; configurations, partitions and
 * offsets, which have keys of their own, as 'map'; errors and messages letter by letter.
 */

export interface ConnectAnswer {
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

export const CONNECT_ANSWERS: readonly ConnectAnswer[] = [
  ...RUNNING.map((answer) => ({ while: 'running', ...answer }) as const),
  ...FAILED.map((answer) => ({ while: 'failed', ...answer }) as const),
  ...STOPPED.map((answer) => ({ while: 'stopped', ...answer }) as const),
];

/** Of an answer, in the terms above: of a list its members' shape, which must be one. */
export function shapeOf(value: unknown, key?: string): unknown {
  if (value === null) return 'null';
  if (typeof value !== 'object') return key === 'error_code' || key === 'message' ? value : typeof value;
  if (Array.isArray(value)) return distinct(value.map((member) => shapeOf(member)));
  if (key === 'config' || key === 'partition' || key === 'offset' || 'connector.class' in value) return 'map';
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shapeOf(member, name)]));
}

function distinct(shapes: readonly unknown[]): readonly unknown[] {
  return [...new Set(shapes.map((shape) => JSON.stringify(shape)))].map((text) => JSON.parse(text) as unknown);
}
