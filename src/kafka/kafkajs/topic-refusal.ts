import { ConnectorError } from '../../errors.ts';
import type { WriterOptions } from '../transactional-writer.ts';
import { kafkaReason, type TopicRefusal, topicRefusalOf, topicsOf } from './kafkajs-errors.ts';
import type { AbortHangingFailed } from './kafkajs-hanging.ts';

/** Facts about topics; requested only after a refusal. */
export interface TopicFacts {
  /** The topics that no broker knows. */
  missing(topics: readonly string[]): Promise<readonly string[]>;
  /** Reads again how large a batch each of the topics takes; whether any takes less than was known. */
  takeLessThanKnown(topics: readonly string[]): Promise<boolean>;
}

const WHAT_TO_DO: Readonly<Record<TopicRefusal, string>> = {
  missing: 'Create the topic again: `spconnect topics create`.',
  forbidden: 'Give the connector its rights on the topic (Create, DescribeConfigs, Read, Write).',
  tooLarge: "Raise the topic's max.message.bytes above the largest record.",
  invalid: "Look at the topic's settings (compression.type, cleanup.policy, schema validation at the broker).",
};

/**
 * A TOPIC_REFUSED when a failed send to these topics is a refusal that no retry resolves; undefined when it may pass. A
 * broker that has just started knows no topic, and the limit of a topic may have been lowered meanwhile: so these two
 * cases are checked once more.
 */
export async function topicRefused(
  cause: unknown,
  topics: readonly string[],
  facts: TopicFacts,
): Promise<ConnectorError | undefined> {
  const refusal = topicRefusalOf(cause);
  if (refusal === undefined) return undefined;
  let concerned = topicsOf(cause) ?? topics;
  try {
    if (refusal === 'missing') concerned = await facts.missing(topics);
    if (refusal === 'tooLarge' && (await facts.takeLessThanKnown(concerned))) return undefined;
  } catch {
    return undefined;
  }
  if (concerned.length === 0) return undefined;
  const text = `Kafka refuses what is written to ${concerned.join(' or ')} (${kafkaReason(cause)}).`;
  return new ConnectorError('TOPIC_REFUSED', `${text} ${WHAT_TO_DO[refusal]}`, {
    cause,
    fields: { topics: concerned },
  });
}

/**
 * A topic that takes no records when a writer opens is reported at once, since a source with several topics may go on
 * without it. The first topic is the exception: without it there is no position.
 *
 * @throws ConnectorError TOPIC_REFUSED, or KAFKA_UNREACHABLE with the field `topics`.
 */
export async function giveUpAborting(
  cause: AbortHangingFailed,
  { transactionalId, facts, abortHanging }: Pick<WriterOptions, 'abortHanging'> & Opening,
): Promise<void> {
  const { topic } = cause;
  const refused = await topicRefused(cause, [topic], facts);
  if (refused !== undefined) throw refused;
  if (abortHanging?.()[0]?.topic === topic) return;
  throw new ConnectorError(
    'KAFKA_UNREACHABLE',
    `The writer ${transactionalId} could not be opened: topic ${topic} takes no records (${kafkaReason(cause)}). ` +
      'Check the brokers that hold it.',
    { cause, fields: { transactionalId, topics: [topic] } },
  );
}

interface Opening {
  readonly transactionalId: string;
  readonly facts: TopicFacts;
}
