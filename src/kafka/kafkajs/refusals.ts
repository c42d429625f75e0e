import { ConnectorError } from '../../errors.ts';
import type { WriterOptions } from '../transactional-writer.ts';
import { kafkaReason, refusedRecords, type TopicRefusal, topicRefusalOf, topicsOf, typeOf } from './kafkajs-errors.ts';
import type { AbortHangingFailed } from './kafkajs-hanging.ts';

export interface TopicFacts {
  missing(topics: readonly string[]): Promise<readonly string[]>;
  /** Reads the maximum batch sizes of the topics again. The next transactions use these sizes. */
  learnLimits(topics: readonly string[]): Promise<void>;
}

const WHAT_TO_DO: Readonly<Record<Exclude<TopicRefusal, 'missing'>, string>> = {
  forbidden: 'Give the connector its rights on the topic (Create, DescribeConfigs, Read, Write).',
  tooLarge: "Raise the topic's max.message.bytes above the largest record.",
  invalid: "Look at the topic's settings (compression.type, cleanup.policy, schema validation at the broker).",
};

/**
 * Returns undefined if a retry can help. A broker that has just started knows no topic, so this function asks again for a
 * missing topic. A retry splits a batch that is too large. A batch of one record cannot be split.
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
    if (refusal === 'tooLarge') {
      await facts.learnLimits(concerned);
      if (refusedRecords(cause) !== 1) return undefined;
    }
  } catch {
    return undefined;
  }
  if (concerned.length === 0) return undefined;
  if (refusal === 'missing') return topicDeleted(cause, concerned, 'nothing can be written to it');
  const text = `Kafka refuses the records for ${concerned.join(' or ')} (${kafkaReason(cause)}).`;
  return new ConnectorError('TOPIC_REFUSED', `${text} ${WHAT_TO_DO[refusal]}`, {
    cause,
    fields: { topics: concerned },
  });
}

/**
 * Called if a writer cannot end hanging transactions in a topic while the writer opens. Throws an error that names the topic,
 * so that sources without this topic continue. For the first topic of `abortHanging`, returns, and the writer tries again.
 */
export async function giveUpAborting(
  cause: AbortHangingFailed,
  { transactionalId, facts, abortHanging }: Refused & { readonly facts: TopicFacts },
): Promise<void> {
  const { topic } = cause;
  const refused = await topicRefused(cause, [topic], facts);
  if (refused !== undefined) throw refused;
  if (abortHanging?.()[0]?.topic === topic) return;
  throw new ConnectorError(
    'KAFKA_UNREACHABLE',
    `The writer ${transactionalId} could not be opened: topic ${topic} accepts no records (${kafkaReason(cause)}). ` +
      'Check the brokers of this topic.',
    { cause, fields: { transactionalId, topics: [topic] } },
  );
}

interface Refused extends Pick<WriterOptions, 'abortHanging' | 'abortHangingOffset'> {
  readonly transactionalId: string;
}

/** Advice for the operator, by the name of Kafka's error. A retry cannot correct these errors. */
const ADVICE: Readonly<Record<string, (of: Refused) => string>> = {
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: ({ transactionalId }) =>
    `Give the connector's account the ACL Write on this transactional id: ${acl(`--transactional-id ${transactionalId}`, 'Write')}`,
  GROUP_AUTHORIZATION_FAILED: ({ abortHangingOffset }) => readGroup(abortHangingOffset?.groupId ?? '<group>'),
  INVALID_TRANSACTION_TIMEOUT: () =>
    'Lower kafka.transactionTimeout, or raise transaction.max.timeout.ms at the brokers',
};

export function writerRefused(cause: unknown, of: Refused): ConnectorError | undefined {
  const advice = ADVICE[typeOf(cause) ?? '']?.(of);
  if (advice === undefined) return undefined;
  const { transactionalId } = of;
  return new ConnectorError(
    'WRITER_REFUSED',
    `Kafka refuses the transactional id ${transactionalId} (${kafkaReason(cause)}). ${advice}. Restart the connector.`,
    { cause, fields: { transactionalId } },
  );
}

/** The error of a failed group member: a right that the account lacks, or a failure that a retry may correct. */
export function memberFailed(
  cause: unknown,
  { groupId, topics }: { readonly groupId: string; readonly topics: readonly string[] },
): ConnectorError {
  const details = { cause, fields: { groupId } };
  switch (typeOf(cause)) {
    case 'GROUP_AUTHORIZATION_FAILED': {
      const text = `Kafka refuses a member of the group ${groupId} (${kafkaReason(cause)}).`;
      return new ConnectorError('WRITER_REFUSED', `${text} ${readGroup(groupId)}. Restart the connector.`, details);
    }
    case 'INVALID_SESSION_TIMEOUT': {
      const text = `Kafka refuses kafka.sessionTimeout in the group ${groupId} (${kafkaReason(cause)}).`;
      const advice = 'Raise kafka.sessionTimeout, or lower group.min.session.timeout.ms at the brokers';
      return new ConnectorError('WRITER_REFUSED', `${text} ${advice}. Restart the connector.`, details);
    }
    case 'TOPIC_AUTHORIZATION_FAILED': {
      const text = `Kafka does not allow the group ${groupId} to read ${topics.join(' or ')} (${kafkaReason(cause)}).`;
      const rights = topics.map((topic) => acl(`--topic ${topic}`, 'Read')).join('; ');
      const advice = `Give the connector's account the ACL Read: ${rights}. Restart the connector.`;
      return new ConnectorError('TOPIC_REFUSED', `${text} ${advice}`, details);
    }
    case 'UNKNOWN_TOPIC_OR_PARTITION': {
      return topicDeleted(cause, topicsOf(cause) ?? topics, `the group ${groupId} cannot read it`);
    }
    default: {
      const text = `The member of group ${groupId} has failed (${kafkaReason(cause)}). Check kafka.brokers.`;
      return new ConnectorError('KAFKA_UNREACHABLE', text, details);
    }
  }
}

/** `so`: the effect. The operation is repeated until the topic is there again. */
export function topicDeleted(cause: unknown, topics: readonly string[], so: string): ConnectorError {
  const text = `Kafka has no topic ${topics.join(' or ')}, so ${so}. Create the topic: \`spconnect topics create\`. Then the connector continues within a minute.`;
  return new ConnectorError('TOPIC_DELETED', text, { cause, fields: { topics } });
}

function readGroup(groupId: string): string {
  return `Give the connector's account the ACL Read on its group: ${acl(`--group ${groupId}`, 'Read')}`;
}

function acl(resource: string, operation: string): string {
  const login = '--bootstrap-server <broker> --command-config <admin.properties>';
  return `kafka-acls.sh ${login} --add --allow-principal User:<account> --operation ${operation} ${resource}`;
}
