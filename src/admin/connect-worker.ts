import type { FastifyInstance } from 'fastify';
import type { ConnectorDescription } from './connect-shapes.ts';
import { RestError } from './rest-error.ts';
import type { Status } from './status/status.ts';

/** The version of Kafka Connect whose interface this is: tools decide by it what they may ask for. */
const CONNECT_VERSION = '4.3.1';

export interface ConnectWorker {
  readonly version: string;
  readonly status: () => Status;
  readonly connectors: readonly ConnectorDescription[];
  readonly logLevel: string;
}

interface PluginConfig {
  readonly Params: { readonly plugin: string };
}
interface LoggerNamed {
  readonly Params: { readonly logger: string };
}

/** Kafka Connect's interface beyond its connectors: the worker, its plugins, its loggers. */
export function addConnectWorker(app: FastifyInstance, worker: ConnectWorker): void {
  const root = { level: worker.logLevel.toUpperCase(), last_modified: null };
  const classes = new Map(worker.connectors.map(({ type, config }) => [config['connector.class'] ?? '', type]));

  app.get('/connector-plugins', () =>
    [...classes].map(([name, type]) => ({ class: name, type, version: worker.version })),
  );
  app.get<PluginConfig>('/connector-plugins/:plugin/config', ({ params: { plugin } }) => {
    if ([...classes.keys()].some((name) => name === plugin || name.endsWith(`.${plugin}`))) return [];
    throw new RestError(404, `Unknown plugin ${plugin}.`);
  });
  app.put<PluginConfig>('/connector-plugins/:plugin/config/validate', ({ params }) => refusal(params.plugin));
  app.get('/admin/loggers', () => ({ root }));
  app.get<LoggerNamed>('/admin/loggers/:logger', ({ params: { logger } }) => {
    if (logger === 'root') return root;
    throw new RestError(404, `Logger ${logger} not found.`);
  });
  app.put<LoggerNamed>('/admin/loggers/:logger', () => {
    throw new RestError(405, 'The level of the log is the setting log.level (LOG_LEVEL); a restart applies it.');
  });
}

/** `GET /` for a client that does not accept HTML. */
export function workerInfo({ version, kafkaClusterId }: Status) {
  return {
    version: CONNECT_VERSION,
    commit: `structured-products-connect-${version}`,
    kafka_cluster_id: kafkaClusterId,
  };
}

/** A configuration is never accepted here; this is the form in which Kafka Connect says why. */
function refusal(plugin: string) {
  const definition = {
    name: 'connector.class',
    type: 'STRING',
    required: true,
    default_value: null,
    importance: 'HIGH',
    documentation: 'Connectors are configured in the settings file.',
    group: 'Common',
    order_in_group: 1,
    width: 'LONG',
    display_name: 'Connector class',
    dependents: [],
  };
  const errors = ['Connectors are configured in the settings file of structured-products-connect, not from here.'];
  const value = { name: 'connector.class', value: plugin, recommended_values: [], errors, visible: true };
  return { name: plugin, error_count: 1, groups: ['Common'], configs: [{ definition, value }] };
}
