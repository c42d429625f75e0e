import type { FastifyInstance } from 'fastify';
import { type ConnectorDescription, infoShape, statusShape, type TaskShape, taskShapes } from './connect-shapes.ts';
import { RestError } from './rest-error.ts';
import type { Status } from './status/status.ts';

export interface ConnectReads {
  readonly connectors: readonly ConnectorDescription[];
  readonly status: () => Status;
  /** `host:port` of this server, as Connect's workers are named. */
  readonly workerId: () => string;
}

interface Named {
  readonly Params: { readonly name: string };
}
interface TaskOf {
  readonly Params: { readonly name: string; readonly id: string };
}
interface Expanded {
  readonly Querystring: { readonly expand?: string | readonly string[] };
}

/** The part of Kafka Connect's interface that shows connectors, their configuration, state and tasks. */
export function addConnectReads(app: FastifyInstance, { connectors, status, workerId }: ConnectReads): void {
  const tasksOf = (connector: ConnectorDescription) => taskShapes(connector, status(), workerId());
  const statusOf = (connector: ConnectorDescription) => statusShape(connector, status(), workerId());
  const infoOf = (connector: ConnectorDescription) => infoShape(connector, tasksOf(connector));
  const find = (name: string) => findConnector(connectors, name);

  app.get<Expanded>('/connectors', ({ query: { expand } }) => {
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
  app.get<Named>('/connectors/:name', ({ params }) => infoOf(find(params.name)));
  app.get<Named>('/connectors/:name/config', ({ params }) => find(params.name).config);
  app.get<Named>('/connectors/:name/status', ({ params: { name } }) =>
    statusOf(findConnector(connectors, name, `No status found for connector ${name}`)),
  );
  app.get<Named>('/connectors/:name/tasks', ({ params }) => {
    const connector = find(params.name);
    return tasksOf(connector).map(({ id }) => ({
      id: { connector: connector.name, task: id },
      config: connector.config,
    }));
  });
  app.get<TaskOf>('/connectors/:name/tasks/:id/status', ({ params: { name, id } }) =>
    findTask(
      connectors.filter((connector) => connector.name === name).flatMap(tasksOf),
      id,
      `No status found for task ${name}-${id}`,
    ),
  );
  app.get<Named>('/connectors/:name/topics', ({ params }) => {
    const { name, topics } = find(params.name);
    return { [name]: { topics } };
  });
}

/** @throws RestError 404 */
export function findConnector(
  connectors: readonly ConnectorDescription[],
  name: string,
  missing = `Connector ${name} not found`,
): ConnectorDescription {
  const found = connectors.find((connector) => connector.name === name);
  if (found === undefined) throw new RestError(404, missing);
  return found;
}

/** @throws RestError 404 */
export function findTask(tasks: readonly TaskShape[], id: string, missing: string): TaskShape {
  const found = tasks.find((task) => String(task.id) === id);
  if (found === undefined) throw new RestError(404, missing);
  return found;
}
