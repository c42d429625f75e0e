import type { Settings } from '../config/settings.ts';
import { ConnectorError, ERROR_CODES, type ErrorCode } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { EnsureOptions } from '../kafka/topic.ts';
import { planSources } from '../setup/planned-sources.ts';
import { untilAborted } from '../support/until-aborted.ts';

/** The state of one topic of the settings on the brokers. */
export interface TopicFinding {
  readonly topic: string;
  /** `wrong`: the connector would not start; `differs`: it would, with a warning. */
  readonly state: 'ok' | 'created' | 'missing' | 'wrong' | 'differs';
  /** Each difference as a sentence with its correction; empty when there is none. */
  readonly problems: readonly string[];
  /** Empty where the connector would start. */
  readonly toDo: string;
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
  return eachTopic(at, { create: false });
}

/** The same, and where the connector would create what is missing, the brokers say whether they would let it. */
export function tryTopics(at: TopicsAt): Promise<readonly TopicFinding[]> {
  return eachTopic(at, { create: false, tryCreation: at.settings.topics.create });
}

/** The same, and creates those that are missing. What is there is never altered. */
export function createTopics(at: TopicsAt): Promise<readonly TopicFinding[]> {
  return eachTopic(at, { create: true });
}

const STATES: Readonly<Partial<Record<ErrorCode, TopicFinding['state']>>> = {
  TOPIC_MISSING: 'missing',
  TOPIC_NOT_CREATED: 'wrong',
  TOPIC_MISMATCH: 'wrong',
};

async function eachTopic(
  { settings, kafka, signal }: TopicsAt,
  how: Pick<EnsureOptions, 'create' | 'tryCreation'>,
): Promise<readonly TopicFinding[]> {
  const findings: TopicFinding[] = [];
  for (const specification of planSources(settings).topics) {
    const topic = specification.name;
    try {
      const report = await untilAborted(kafka.ensureTopics([specification], how), signal);
      const state = report.warnings.length > 0 ? 'differs' : report.created.includes(topic) ? 'created' : 'ok';
      findings.push({ topic, state, problems: report.warnings, toDo: '' });
    } catch (error) {
      const state = error instanceof ConnectorError ? STATES[error.code] : undefined;
      if (!(error instanceof ConnectorError) || state === undefined) throw error;
      findings.push({ topic, state, problems: [error.message], toDo: ERROR_CODES[error.code].remedy });
    }
  }
  return findings;
}
