import type { RequestListener, Server } from 'node:http';
import { createAdminListener } from '../admin/admin-server.ts';
import type { StatusBoard } from '../admin/status/status-board.ts';
import type { Settings } from '../config/settings.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { TopicPlan } from '../kafka/topic-plan.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Clock } from '../support/clock.ts';
import { projectVersion } from '../support/version.ts';
import { describeProcessor, describeSources } from './connector-descriptions.ts';
import { createConnectorOperations } from './connector-operations.ts';

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
    operations: createConnectorOperations({ ...parts, prefix: settings.prefix }),
  });
}
