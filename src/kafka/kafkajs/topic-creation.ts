import type { Admin } from 'kafkajs';
import { ConnectorError } from '../../errors.ts';
import type { TopicSpecification } from '../topic.ts';
import { kafkaReason } from './kafkajs-errors.ts';

/** Receives the refusal of a topic. */
export interface TopicRefusals {
  mayBe(topic: TopicSpecification): boolean;
  /** Throws the error unless the topic may be refused. */
  add(topic: TopicSpecification, error: ConnectorError): void;
}

/**
 * One by one: for several at once kafkajs does not report which of them existed. Returns those that it created. With
 * `validateOnly` the brokers only say whether they would.
 */
export async function createMissing(
  missing: readonly TopicSpecification[],
  { admin, ...how }: { readonly admin: Admin; readonly timeout: number; readonly validateOnly: boolean },
  refusals: TopicRefusals,
): Promise<string[]> {
  const created: string[] = [];
  for (const wanted of missing) {
    const { name, partitions, replicationFactor, settings } = wanted;
    const configEntries = Object.entries(settings).map(([setting, value]) => ({ name: setting, value }));
    const topic = { topic: name, numPartitions: partitions, replicationFactor, configEntries };
    try {
      // False: another process created it a moment ago; it is verified like any other.
      if (await admin.createTopics({ topics: [topic], ...how, waitForLeaders: false })) created.push(name);
    } catch (error) {
      const hidden = hiddenErrors(error);
      if (hidden.length === 0) throw error;
      const reasons = hidden.map((refusal) => kafkaReason(refusal)).join('; ');
      const text =
        `Kafka refuses to create topic ${name} (${reasons}). Often topics.replicationFactor is above the number of ` +
        'brokers, or the right Create is missing.';
      refusals.add(wanted, new ConnectorError('TOPIC_NOT_CREATED', text, { cause: error, fields: { topic: name } }));
    }
  }
  return created;
}

/** When a required topic is missing, the error names all missing topics. */
export function refuseMissing(missing: readonly TopicSpecification[], refusals: TopicRefusals): void {
  if (missing.some((topic) => !refusals.mayBe(topic))) throw topicsMissing(missing);
  for (const topic of missing) refusals.add(topic, topicsMissing([topic]));
}

/** kafkajs hides why a topic was refused in `errors`, one level down or behind a cause. */
function hiddenErrors(error: unknown): unknown[] {
  if (!(error instanceof Error)) return [];
  return 'errors' in error && Array.isArray(error.errors) ? error.errors : hiddenErrors(error.cause);
}

function topicsMissing(missing: readonly TopicSpecification[]): ConnectorError {
  const commands = missing.map(
    ({ name, partitions, replicationFactor, settings }) =>
      `kafka-topics.sh --create --topic ${name} --partitions ${partitions} --replication-factor ${replicationFactor}` +
      Object.entries(settings)
        .map(([setting, value]) => ` --config ${setting}=${value}`)
        .join(''),
  );
  return new ConnectorError(
    'TOPIC_MISSING',
    `${missing.map(({ name }) => name).join(', ')}: missing. What would create them by hand:\n${commands.join('\n')}`,
    { fields: { topics: missing.map(({ name }) => name) } },
  );
}
