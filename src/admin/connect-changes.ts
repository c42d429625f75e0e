import type { FastifyInstance } from 'fastify';
import { type ConnectReads, findConnector, findTask } from './connect-reads.ts';
import { type ConnectorDescription, restartingShape, statusShape, taskShapes } from './connect-shapes.ts';
import type { ConnectorOperations } from './connector-operations.ts';
import { RestError } from './rest-error.ts';

const IS_A_FILE =
  'Connectors are configured in the settings file of structured-products-connect (config/connector.yaml) and its ' +
  'environment: change them there and restart the process. Pause, resume, stop, restart and offsets work from here.';

interface Named {
  readonly Params: { readonly name: string };
}
interface TaskOf {
  readonly Params: { readonly name: string; readonly id: string };
}
interface Restart extends Named {
  readonly Querystring: { readonly includeTasks?: string; readonly onlyFailed?: string };
}

/**
 * The part of Kafka Connect's interface that lets connectors run, pause, stop and start again. The response comes when that is
 * written to the states topic; the replica that runs the connector does it within milliseconds. A connector is its task here, so
 * that restarting the one restarts the other.
 */
export function addConnectChanges(app: FastifyInstance, reads: ConnectReads, operations: ConnectorOperations): void {
  const { connectors, status, workerId } = reads;
  const find = (name: string) => findConnector(connectors, name);
  // Kafka Connect words it in three ways.
  const findToChange = (name: string) => findConnector(connectors, name, `Unknown connector ${name}`);
  const findToRestart = (name: string) => findConnector(connectors, name, `Unknown connector: ${name}`);
  const isFailed = (connector: ConnectorDescription) =>
    taskShapes(connector, status(), workerId()).some(({ state }) => state === 'FAILED');

  app.put<Named>('/connectors/:name/pause', async ({ params }, reply) => {
    await operations.want(findToChange(params.name).name, 'paused');
    return reply.code(202).send();
  });
  app.put<Named>('/connectors/:name/resume', async ({ params }, reply) => {
    await operations.want(findToChange(params.name).name, 'running');
    return reply.code(202).send();
  });
  app.put<Named>('/connectors/:name/stop', async ({ params }, reply) => {
    await operations.want(findToChange(params.name).name, 'stopped');
    return reply.code(204).send();
  });
  app.post<Restart>('/connectors/:name/restart', async ({ params, query }, reply) => {
    const connector = findToRestart(params.name);
    const [includeTasks, onlyFailed] = [isTrue(query.includeTasks), isTrue(query.onlyFailed)];
    // Only the replica that runs it knows whether it has failed, and that may be another one.
    await operations.restart(connector.name, { onlyFailed });
    if (!onlyFailed && !includeTasks) return reply.code(204).send();
    const shape = statusShape(connector, status(), workerId());
    const isRestarting = !onlyFailed || isFailed(connector);
    return reply.code(202).send(isRestarting ? restartingShape(shape, onlyFailed) : shape);
  });
  app.post<TaskOf>('/connectors/:name/tasks/:id/restart', async ({ params: { name, id } }, reply) => {
    const connector = findToRestart(name);
    findTask(taskShapes(connector, status(), workerId()), id, `Unknown task: ${name}-${id}`);
    await operations.restart(name, { onlyFailed: false });
    return reply.code(204).send();
  });
  // The topics are those of the settings, used or not: there is nothing to forget.
  app.put<Named>('/connectors/:name/topics/reset', async ({ params }, reply) => {
    find(params.name);
    return reply.code(202).send();
  });

  const refuse = (status: number) => {
    throw new RestError(status, IS_A_FILE);
  };
  // With the status of a configuration that is not right: tools show the text of such a response, but not that of a 405.
  app.post('/connectors', () => refuse(400));
  app.put<Named>('/connectors/:name/config', () => refuse(400));
  app.patch<Named>('/connectors/:name/config', ({ params }) => find(params.name) && refuse(400));
  app.delete<Named>('/connectors/:name', ({ params }) => find(params.name) && refuse(405));
}

/** As Java reads it: true in any case of letters, all else false. */
function isTrue(parameter: string | undefined): boolean {
  return String(parameter).toLowerCase() === 'true';
}
