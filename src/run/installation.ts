import type { TopicRole } from '../config/groups/topics.ts';
import type { Settings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { TopicSpecification } from '../kafka/topic.ts';
import { type TopicPlan, topicPlan } from '../kafka/topic-plan.ts';
import { type Clock, systemClock, systemRandom } from '../support/clock.ts';
import { silentLog } from '../support/log.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { createKafkaCluster } from './kafka-client.ts';

/** The topics with one prefix on one Kafka cluster. A connector may use these topics while a command works. */
export interface Installation {
  readonly settings: Settings;
  readonly prefix: string;
  readonly kafka: KafkaCluster;
  readonly topics: TopicPlan;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface InstallationOptions {
  readonly settings: Settings;
  readonly signal: AbortSignal;
  /** The topics that the work needs; if empty, Kafka is not contacted before the work begins. */
  readonly needs: readonly (TopicRole | TopicSpecification)[];
  readonly overrides?: Partial<Pick<Installation, 'kafka' | 'clock'>>;
}

/**
 * Connects to an installation, does the work and disconnects. Creates no topic: if a topic is missing, probably
 * no connector has run with this prefix on these brokers, and the settings are wrong.
 *
 * @throws ConnectorError TOPIC_MISSING, TOPIC_MISMATCH, KAFKA_UNREACHABLE, the signal's reason, and the work's errors.
 */
export async function atInstallation<T>(
  { settings, signal, needs, overrides }: InstallationOptions,
  work: (installation: Installation) => Promise<T>,
): Promise<T> {
  const { prefix, topics: configured } = settings;
  const clock = overrides?.clock ?? systemClock;
  const kafka =
    overrides?.kafka ?? (await createKafkaCluster(settings, { clock, random: systemRandom, log: silentLog }));
  try {
    const topics = topicPlan({ prefix, ...configured });
    const needed = needs.map((one) => (typeof one === 'string' ? topics[one] : one));
    if (needed.length > 0) {
      const ensured = kafka.ensureTopics(needed, { create: false }).catch((error: unknown) => {
        throw error instanceof ConnectorError && error.code === 'TOPIC_MISSING' ? neverRun(error) : error;
      });
      await untilAborted(ensured, signal);
    }
    return await work({ settings, prefix, kafka, topics, clock, signal });
  } finally {
    await kafka.close();
  }
}

function neverRun(cause: ConnectorError): ConnectorError {
  const names = [cause.fields.topics].flat().join(' or ');
  return new ConnectorError(
    'TOPIC_MISSING',
    `There is no topic ${names}. Perhaps no connector of this version has run with this prefix on these brokers. ` +
      'Check prefix (TOPIC_PREFIX) and kafka.brokers, or start the connector first.',
    { cause },
  );
}
