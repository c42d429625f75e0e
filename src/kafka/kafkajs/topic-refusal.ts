import { ConnectorError } from '../../errors.ts';
import type { WriterOptions } from '../transactional-writer.ts';
import { kafkaReason, type Refusal, refusalOf } from './kafkajs-errors.ts';
import type { AbortHangingFailed } from './kafkajs-hanging.ts';

/** What is known of the topics beside their records; asked only when something was refused. */
export interface TopicFacts {
  /** Those of the topics that no broker knows. */
  missing(topics: readonly string[]): Promise<readonly string[]>;
  /** Reads again how large a batch each of the topics takes; whether any takes less than was known. */
  takeLessThanKnown(topics: readonly string[]): Promise<boolean>;
}

const WHAT_TO_DO: Readonly<Record<Refusal, string>> = {
  missing: 'Create the topic again (spconnect topics create), then let the source start again.',
  forbidden: 'Give the connector its rights on the topic (Create, DescribeConfigs, Read, Write), then start it again.',
  tooLarge: "Raise the topic's max.message.bytes above the largest record, then let the source start again.",
  invalid: "Look at the topic's settings (compression.type, cleanup.policy, schema validation at the broker).",
};

/**
 * Whether a failed send to these topics is a refusal that no repetition mends, as a TOPIC_REFUSED; undefined when it may
 * pass. A broker that has just started knows no topic, and the limit of a topic may have been lowered meanwhile: so these
 * two are looked at once more.
 */
export async function topicRefused(
  cause: unknown,
  topics: readonly string[],
  facts: TopicFacts,
): Promise<ConnectorError | undefined> {
  const refusal = refusalOf(cause);
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
 * A topic that takes no records when a writer opens is told of at once, unless it is the first one, without which there
 * is no position: whoever writes to several may go on without it.
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
      'Look at the brokers that hold it.',
    { cause, fields: { transactionalId, topics: [topic] } },
  );
}

interface Opening {
  readonly transactionalId: string;
  readonly facts: TopicFacts;
}

/** The topics that an error names, or one of its causes. */
function topicsOf(error: unknown): readonly string[] | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('topics' in cause && Array.isArray(cause.topics)) return cause.topics;
    if ('topic' in cause && typeof cause.topic === 'string') return [cause.topic];
  }
  return undefined;
}
