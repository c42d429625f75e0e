import type { FastifyInstance } from 'fastify';
import type { SourceOffset } from '../kafka/offset-store.ts';
import type { TargetState } from '../worker/target.ts';
import { RestError } from './rest-error.ts';
import type { ProcessorStatus, SourceStatus, Status, TaskState } from './status/status.ts';

/** This server has the REST interface of this version of Kafka Connect. Tools choose their requests by the version. */
const CONNECT_VERSION = '4.3.1';

const isAFile = (settingsFile: string) =>
  `Connectors are configured in the settings file of structured-products-connect (${settingsFile}) and in ` +
  'environment variables. Change the settings there, and restart the process. This interface can pause, resume, stop ' +
  'and restart connectors, and change their offsets.';

/** Each source, and the price processor, is a connector with one task. */
export interface ConnectorDescription {
  readonly name: string;
  readonly type: 'source' | 'sink';
  /** The settings of the connector as a flat map, as in Kafka Connect, without secrets. */
  readonly config: Readonly<Record<string, string>>;
  readonly topics: readonly string[];
}

/** A connector's offset on one partition of its input, in the form of Kafka Connect. */
export interface ConnectorOffset {
  readonly partition: Readonly<Record<string, unknown>>;
  readonly offset: Readonly<Record<string, unknown>> | null;
}

/** Reads and changes connectors of all replicas. A change throws the ConnectorErrors of the transactional writer. */
export interface ConnectorOperations {
  want(connector: string, state: TargetState): Promise<void>;
  /** Restarts the connector from its committed offset; with `onlyFailed` only if the connector has failed. */
  restart(connector: string, which: { readonly onlyFailed: boolean }): Promise<void>;
  /** The committed offsets; `offset` is null if nothing is committed. @throws ConnectorError KAFKA_UNREACHABLE. */
  offsets(connector: string): Promise<readonly ConnectorOffset[]>;
  /** Writes this offset; null deletes the committed offset. The connector must be stopped. */
  alterOffset(connector: string, offset: SourceOffset | null): Promise<void>;
}

export interface ConnectWorker {
  readonly version: string;
  readonly settingsFile: string;
  readonly connectors: readonly ConnectorDescription[];
  readonly status: () => Status;
  /** `host:port` of this server, in the form of Connect's worker ids. */
  readonly workerId: () => string;
  readonly operations: ConnectorOperations;
}

interface Params<Names extends string> {
  readonly Params: Readonly<Record<Names, string>>;
}

export function addConnectRoutes(app: FastifyInstance, worker: ConnectWorker): void {
  addReads(app, worker);
  addChanges(app, worker);
  addOffsets(app, worker);
  const classes = new Map(worker.connectors.map(({ type, config }) => [config['connector.class'] ?? '', type]));

  app.get('/connector-plugins', () =>
    [...classes].map(([name, type]) => ({ class: name, type, version: worker.version })),
  );
  app.get<Params<'plugin'>>('/connector-plugins/:plugin/config', ({ params: { plugin } }) => {
    if ([...classes.keys()].some((name) => name === plugin || name.endsWith(`.${plugin}`))) return [];
    throw new RestError(404, `Unknown plugin ${plugin}.`);
  });
}

/** The response to `GET /` for a client that does not accept HTML. */
export function workerInfo({ version, kafkaClusterId }: Status) {
  const commit = `structured-products-connect-${version}`;
  return { version: CONNECT_VERSION, commit, kafka_cluster_id: kafkaClusterId };
}

function addReads(app: FastifyInstance, { connectors, status, workerId }: ConnectWorker): void {
  const tasksOf = (connector: ConnectorDescription) => taskShapes(connector, status(), workerId());
  const statusOf = (connector: ConnectorDescription) => statusShape(connector, status(), workerId());
  const infoOf = (connector: ConnectorDescription) => {
    const { name, type, config } = connector;
    return { name, config, tasks: tasksOf(connector).map(({ id }) => ({ connector: name, task: id })), type };
  };
  const find = (name: string) => findConnector(connectors, name);

  app.get<{ Querystring: { readonly expand?: string | readonly string[] } }>('/connectors', ({ query: { expand } }) => {
    if (expand === undefined) return connectors.map(({ name }) => name);
    const wanted = [expand].flat();
    const expanded = connectors.map((connector) => [
      connector.name,
      {
        ...(wanted.includes('status') && { status: statusOf(connector) }),
        ...(wanted.includes('info') && { info: infoOf(connector) }),
      },
    ]);
    return Object.fromEntries(expanded);
  });
  app.get<Params<'name'>>('/connectors/:name', ({ params }) => infoOf(find(params.name)));
  app.get<Params<'name'>>('/connectors/:name/config', ({ params }) => find(params.name).config);
  app.get<Params<'name'>>('/connectors/:name/status', ({ params: { name } }) =>
    statusOf(findConnector(connectors, name, `No status found for connector ${name}`)),
  );
  app.get<Params<'name'>>('/connectors/:name/tasks', ({ params }) => {
    const connector = find(params.name);
    return tasksOf(connector).map(({ id }) => ({
      id: { connector: connector.name, task: id },
      config: connector.config,
    }));
  });
  app.get<Params<'name' | 'id'>>('/connectors/:name/tasks/:id/status', ({ params: { name, id } }) =>
    findTask(
      connectors.filter((connector) => connector.name === name).flatMap(tasksOf),
      id,
      `No status found for task ${name}-${id}`,
    ),
  );
  app.get<Params<'name'>>('/connectors/:name/topics', ({ params }) => {
    const { name, topics } = find(params.name);
    return { [name]: { topics } };
  });
}

const TARGETS = [
  ['pause', 'paused', 202],
  ['resume', 'running', 202],
  ['stop', 'stopped', 204],
] as const;

/**
 * Routes that pause, resume, stop and restart connectors. A response is sent after the topic `states` has the change.
 * A connector and its only task are one unit: a restart of the task restarts the connector.
 */
function addChanges(app: FastifyInstance, worker: ConnectWorker): void {
  const { connectors, status, workerId, operations } = worker;
  const find = (name: string) => findConnector(connectors, name);
  const findToChange = (name: string) => findConnector(connectors, name, `Unknown connector ${name}`);
  const findToRestart = (name: string) => findConnector(connectors, name, `Unknown connector: ${name}`);

  for (const [verb, state, code] of TARGETS) {
    app.put<Params<'name'>>(`/connectors/:name/${verb}`, async ({ params }, reply) => {
      await operations.want(findToChange(params.name).name, state);
      return reply.code(code).send();
    });
  }
  app.post<Params<'name'> & { Querystring: { readonly includeTasks?: string; readonly onlyFailed?: string } }>(
    '/connectors/:name/restart',
    async ({ params, query }, reply) => {
      const connector = findToRestart(params.name);
      const [includeTasks, onlyFailed] = [isTrue(query.includeTasks), isTrue(query.onlyFailed)];
      // Perhaps another replica runs the connector. Then only that replica knows if the connector has failed.
      await operations.restart(connector.name, { onlyFailed });
      if (!onlyFailed && !includeTasks) return reply.code(204).send();
      const shape = statusShape(connector, status(), workerId());
      const isRestarting = !onlyFailed || shape.tasks.some(({ state }) => state === 'FAILED');
      return reply.code(202).send(isRestarting ? restartingShape(shape, onlyFailed) : shape);
    },
  );
  app.post<Params<'name' | 'id'>>('/connectors/:name/tasks/:id/restart', async ({ params: { name, id } }, reply) => {
    const connector = findToRestart(name);
    findTask(taskShapes(connector, status(), workerId()), id, `Unknown task: ${name}-${id}`);
    await operations.restart(name, { onlyFailed: false });
    return reply.code(204).send();
  });
  // Kafka Connect resets its list of used topics. This server has no such list: its topics come from the settings.
  app.put<Params<'name'>>('/connectors/:name/topics/reset', async ({ params }, reply) => {
    find(params.name);
    return reply.code(202).send();
  });

  const refuse = (code: number) => {
    throw new RestError(code, isAFile(worker.settingsFile));
  };
  // A refused configuration gets the status 400, because tools show the text of a 400, but not the text of a 405.
  app.post('/connectors', () => refuse(400));
  app.put('/connector-plugins/:plugin/config/validate', () => refuse(400));
  app.put<Params<'name'>>('/connectors/:name/config', () => refuse(400));
  app.patch<Params<'name'>>('/connectors/:name/config', ({ params }) => find(params.name) && refuse(400));
  app.delete<Params<'name'>>('/connectors/:name', ({ params }) => find(params.name) && refuse(405));
}

/** Routes that read and change committed offsets, in Kafka Connect's form. A change needs a stopped connector. */
function addOffsets(app: FastifyInstance, { connectors, status, operations }: ConnectWorker): void {
  const find = (name: string) => findConnector(connectors, name);
  const stoppedSource = (name: string) => {
    const { type } = find(name);
    if (type !== 'source')
      throw new RestError(400, 'The offsets of a consumer group are changed with the tools of Kafka.');
    if (status().sources.some((source) => source.name === name && source.wanted === 'stopped')) return name;
    throw new RestError(
      400,
      `Connectors must be in the STOPPED state before their offsets can be modified. This can be done for the ` +
        `specified connector by issuing a 'PUT' request to the '/connectors/${name}/stop' endpoint`,
    );
  };

  app.get<Params<'name'>>('/connectors/:name/offsets', async ({ params }) => {
    const offsets = await operations.offsets(find(params.name).name);
    return { offsets: offsets.filter(({ offset }) => offset !== null) };
  });
  app.delete<Params<'name'>>('/connectors/:name/offsets', async ({ params }) => {
    await operations.alterOffset(stoppedSource(params.name), null);
    return { message: 'The offsets for this connector have been reset successfully' };
  });
  app.patch<Params<'name'> & { Body: unknown }>('/connectors/:name/offsets', async ({ params, body }) => {
    const offsets = offsetsIn(body);
    const name = stoppedSource(params.name);
    const [current] = await operations.offsets(name);
    await operations.alterOffset(name, theOffset(offsets, current?.partition ?? {}));
    return { message: 'The offsets for this connector have been altered successfully' };
  });
}

/** Returns the list in `{"offsets":[{"partition":{…},"offset":{…}}]}`. */
function offsetsIn(body: unknown): readonly unknown[] {
  const offsets = isObject(body) ? body.offsets : undefined;
  if (Array.isArray(offsets) && offsets.length > 0) return offsets;
  throw new RestError(400, 'Partitions / offsets need to be provided for an alter offsets request');
}

function theOffset([only, ...more]: readonly unknown[], wanted: ConnectorOffset['partition']): SourceOffset | null {
  const partition = JSON.stringify(wanted);
  if (!isObject(only) || more.length > 0 || JSON.stringify(only.partition) !== partition) {
    throw new RestError(400, `Expected exactly one offset, with the partition ${partition}`);
  }
  const { offset } = only;
  if (offset === null) return null;
  if (!isObject(offset) || Object.keys(offset).length === 0 || !Object.values(offset).every(isPrimitive)) {
    throw new RestError(
      400,
      'The offset must be a flat map of texts, numbers, booleans and nulls. To delete the offset, give null',
    );
  }
  return offset as SourceOffset;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isPrimitive(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

function findConnector(
  connectors: readonly ConnectorDescription[],
  name: string,
  missing = `Connector ${name} not found`,
): ConnectorDescription {
  const found = connectors.find((connector) => connector.name === name);
  if (found === undefined) throw new RestError(404, missing);
  return found;
}

function findTask(tasks: readonly TaskShape[], id: string, missing: string): TaskShape {
  const found = tasks.find((task) => String(task.id) === id);
  if (found === undefined) throw new RestError(404, missing);
  return found;
}

/** As in Java, `true` in upper or lower case is true, and any other text is false. */
function isTrue(parameter: string | undefined): boolean {
  return String(parameter).toLowerCase() === 'true';
}

const connectState = (state: TargetState | TaskState) => state.toUpperCase() as Uppercase<typeof state>;

interface TaskShape {
  readonly id: number;
  readonly state: Uppercase<TargetState | TaskState> | 'RESTARTING';
  readonly worker_id: string;
  readonly version: string;
  readonly trace?: string;
}

interface StatusShape {
  readonly name: string;
  readonly connector: Omit<TaskShape, 'id' | 'trace'>;
  readonly tasks: readonly TaskShape[];
  readonly type: ConnectorDescription['type'];
}

/** The response to `GET /connectors/{name}/status`. A stopped connector has no task. */
function statusShape(connector: ConnectorDescription, status: Status, workerId: string): StatusShape {
  const { name, type } = connector;
  const state = connectState(known(status, name).wanted);
  const tasks = taskShapes(connector, status, workerId);
  return { name, connector: { state, worker_id: workerId, version: status.version }, tasks, type };
}

/** The response to a restart. With `onlyFailed`, only tasks are RESTARTING, because only a task can be FAILED. */
function restartingShape(shape: StatusShape, onlyFailed: boolean): StatusShape {
  const state = 'RESTARTING';
  const connector = onlyFailed ? shape.connector : ({ ...shape.connector, state } as const);
  return { ...shape, connector, tasks: shape.tasks.map((task) => ({ ...task, state })) };
}

function taskShapes({ name }: ConnectorDescription, status: Status, workerId: string): readonly TaskShape[] {
  const { wanted, task, trace } = known(status, name);
  if (wanted === 'stopped') return [];
  const { version } = status;
  return [{ id: 0, state: connectState(task), worker_id: workerId, version, ...(trace !== null && { trace }) }];
}

function known({ sources, processor }: Status, name: string): SourceStatus | ProcessorStatus {
  const found = [...sources, ...(processor === null ? [] : [processor])].find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no connector ${name} here.`);
  return found;
}
