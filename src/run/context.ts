import { SOURCE_WORDS } from '../config/groups/sources.ts';
import type { Settings, SourceSettings } from '../config/settings.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { KafkajsOptions } from '../kafka/kafkajs/kafkajs-cluster.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import type { HttpClient } from '../provider/http/client.ts';
import { createEndpointGates } from '../provider/http/endpoint-gates.ts';
import type { SchemaRegistry } from '../records/avro/registry.ts';
import type { Random } from '../support/back-off.ts';
import { type Clock, systemClock, systemRandom } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { projectVersion } from '../support/version.ts';
import { createKafkaCluster } from './kafka-client.ts';
import { createProviderHttp } from './provider-client.ts';
import { createRegistry } from './registry-client.ts';

/** The clocks, clients and metrics that all parts of one process share. */
export interface Context {
  readonly clock: Clock;
  readonly random: Random;
  readonly kafka: KafkaCluster;
  readonly http: HttpClient;
  /** The client of the market data interface; null if prices are disabled. */
  readonly marketHttp: HttpClient | null;
  readonly registry: SchemaRegistry;
  readonly metrics: Metrics;
}

/** The work of one process. `sources`: reads the reference data. `processor`: requests prices for the instruments. */
export type Roles = 'sources' | 'processor' | 'both';

export interface ContextOptions {
  readonly settings: Settings;
  readonly log: Log;
  /** By default both. The metrics omit sources that this process never runs. */
  readonly roles?: Roles;
  readonly droppedLogLines?: () => number;
  readonly overrides?: Partial<Context> & { readonly wrapKafka?: KafkajsOptions['wrap'] };
}

export async function createContext(options: ContextOptions): Promise<Context> {
  const { settings, log, roles = 'both', droppedLogLines, overrides = {} } = options;
  const { clock = systemClock, random = systemRandom, wrapKafka: wrap } = overrides;
  const own = roles === 'processor' ? [] : settings.sources;
  const counted = { sources: own.map(({ name }) => name), series: own.flatMap(seriesOf) };
  const prices = settings.prices.enabled && roles !== 'sources';
  const metrics =
    overrides.metrics ?? createMetrics({ version: projectVersion(), ...counted, prices, droppedLogLines });
  const gates = createEndpointGates({ clock, random });
  const deps = { clock, random, log, observer: metrics.httpObserver, gates };
  const { marketData } = settings;
  return {
    clock,
    random,
    metrics,
    kafka: overrides.kafka ?? (await createKafkaCluster(settings, { ...deps, ...(wrap && { wrap }) })),
    http: overrides.http ?? (await createProviderHttp('referenceData', settings.referenceData, deps)),
    marketHttp: overrides.marketHttp ?? (marketData && (await createProviderHttp('marketData', marketData, deps))),
    registry: overrides.registry ?? (await createRegistry(settings.schemaRegistry, deps)),
  };
}

function seriesOf({ name: source, type }: SourceSettings) {
  const { records, polled } = SOURCE_WORDS[type];
  return [...records.map((record) => ({ source, record })), ...polled.map((endpoint) => ({ source, endpoint }))];
}
