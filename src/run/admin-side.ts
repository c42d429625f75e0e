import type { RequestListener, Server } from 'node:http';
import { createAdminListener } from '../admin/admin-server.ts';
import type { ConnectorDescription } from '../admin/connect-shapes.ts';
import type { StatusBoard } from '../admin/status/status-board.ts';
import type { Settings } from '../config/settings.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { TopicPlan } from '../kafka/topic-plan.ts';
import type { Metrics } from '../observe/metrics.ts';
import { pricedTopics } from '../prices/enabled-kinds.ts';
import { kindOf } from '../sources/kinds/all.ts';
import type { Clock } from '../support/clock.ts';
import { projectVersion } from '../support/version.ts';
import { PRICE_PROCESSOR } from '../worker/target.ts';
import { createConnectorOperations } from './connector-operations.ts';
import { createWholeReader } from './whole-installation.ts';

const CLASS_PREFIX = 'structured-products-connect';

export interface AdminSide {
  readonly settings: Settings;
  /** What this process does. */
  readonly roles: { readonly sources: boolean; readonly prices: boolean };
  readonly kafka: KafkaCluster;
  readonly topics: TopicPlan;
  readonly board: StatusBoard;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** What answers on the port of a connector's admin server. */
export async function answerAdmin(server: Server, parts: AdminSide): Promise<RequestListener> {
  const { settings, roles, topics, board, metrics } = parts;
  const place = { ...parts, prefix: settings.prefix };
  const operations = createConnectorOperations(place);
  return createAdminListener(server, {
    settings: settings.admin,
    version: projectVersion(),
    logLevel: settings.log.level,
    connectors: [
      ...(roles.sources ? describeSources(settings) : []),
      ...(roles.prices ? [describeProcessor(settings, topics)] : []),
    ],
    status: board.status,
    refreshed: board.refreshed,
    metrics,
    whole: createWholeReader(place, operations),
    operations,
  });
}

/** The sources of the settings, in the words of Kafka Connect. Nothing of them is secret. */
function describeSources({ prefix, sources }: Pick<Settings, 'prefix' | 'sources'>): ConnectorDescription[] {
  return sources.map((source) => ({
    name: source.name,
    type: 'source',
    topics: Object.values(source.topics).map((topic) => `${prefix}.${topic}`),
    config: {
      'connector.class': `${CLASS_PREFIX}.${kindOf(source).connectorClass}`,
      'tasks.max': '1',
      ...flatTexts(source),
    },
  }));
}

/** The price processor: a sink, since it reads Kafka as a consumer group; Kafka Connect has no type that also writes. */
function describeProcessor({ prices }: Pick<Settings, 'prices'>, topics: TopicPlan): ConnectorDescription {
  return {
    name: PRICE_PROCESSOR,
    type: 'sink',
    topics: pricedTopics(prices).map((topic) => topics[topic].name),
    config: {
      'connector.class': `${CLASS_PREFIX}.PriceProcessor`,
      'tasks.max': '1',
      name: PRICE_PROCESSOR,
      ...flatTexts(prices),
    },
  };
}

function flatTexts(value: object): Record<string, string> {
  return Object.fromEntries(flatten(value).map(([key, member]) => [key, String(member)]));
}

function flatten(value: object, path = ''): [key: string, value: unknown][] {
  return Object.entries(value).flatMap(([key, member]): [string, unknown][] => {
    const name = path === '' ? key : `${path}.${key}`;
    if (Array.isArray(member)) return [[name, member.join(',')]];
    if (typeof member === 'object' && member !== null) return flatten(member, name);
    return [[name, member ?? '']];
  });
}
