import type { Settings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import { planSources } from '../setup/planned-sources.ts';
import { untilAborted } from '../support/until-aborted.ts';

/** The state of one topic of the settings on the brokers. */
export interface TopicFinding {
  readonly topic: string;
  /** `wrong`: the connector would not start; `differs`: it would, with a warning. */
  readonly state: 'ok' | 'created' | 'missing' | 'wrong' | 'differs';
  /** Each difference as a sentence with its correction; empty when there is none. */
  readonly problems: readonly string[];
}

interface TopicsAt {
  readonly settings: Settings;
  readonly kafka: KafkaCluster;
  readonly signal: AbortSignal;
}

/**
 * Compares every topic of the settings with the brokers, one by one, so that all differences are reported at once.
 *
 * @throws ConnectorError KAFKA_UNREACHABLE, or the signal's reason.
 */
export function verifyTopics(at: TopicsAt): Promise<readonly TopicFinding[]> {
  return eachTopic(at, false);
}

/** The same, and creates those that are missing. What is there is never altered. */
export function createTopics(at: TopicsAt): Promise<readonly TopicFinding[]> {
  return eachTopic(at, true);
}

async function eachTopic({ settings, kafka, signal }: TopicsAt, create: boolean): Promise<readonly TopicFinding[]> {
  const findings: TopicFinding[] = [];
  for (const specification of planSources(settings).topics) {
    const topic = specification.name;
    try {
      const report = await untilAborted(kafka.ensureTopics([specification], { create }), signal);
      const state = report.warnings.length > 0 ? 'differs' : report.created.includes(topic) ? 'created' : 'ok';
      findings.push({ topic, state, problems: report.warnings });
    } catch (error) {
      const code = error instanceof ConnectorError ? error.code : null;
      if (!(error instanceof ConnectorError) || (code !== 'TOPIC_MISSING' && code !== 'TOPIC_MISMATCH')) throw error;
      const isMissing = code === 'TOPIC_MISSING' && !create;
      findings.push({ topic, state: isMissing ? 'missing' : 'wrong', problems: [error.message] });
    }
  }
  return findings;
}
