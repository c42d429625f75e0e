import { ConnectorError } from '../../errors.ts';
import type { WriterOptions } from '../transactional-writer.ts';
import { kafkaReason, typeOf } from './kafkajs-errors.ts';

interface Refused extends Pick<WriterOptions, 'abortHangingOffset'> {
  readonly transactionalId: string;
}

/** By the broker's error: refusals that depend neither on the records nor on retries, and what resolves them. */
const WHAT_TO_DO: Readonly<Record<string, (of: Refused) => string>> = {
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: ({ transactionalId }) =>
    `Give the connector's account the right Write on this transactional id: ${acl(`--transactional-id ${transactionalId}`, 'Write')}`,
  GROUP_AUTHORIZATION_FAILED: ({ abortHangingOffset }) => readGroup(abortHangingOffset?.groupId ?? '<group>'),
  INVALID_TRANSACTION_TIMEOUT: () =>
    'Lower kafka.transactionTimeout, or raise transaction.max.timeout.ms at the brokers',
};

/** A WRITER_REFUSED when a writer failed for a reason that no retry and no other topic resolves. */
export function writerRefused(cause: unknown, of: Refused): ConnectorError | undefined {
  const advice = WHAT_TO_DO[typeOf(cause) ?? '']?.(of);
  if (advice === undefined) return undefined;
  const { transactionalId } = of;
  return new ConnectorError(
    'WRITER_REFUSED',
    `Kafka refuses the transactional id ${transactionalId} (${kafkaReason(cause)}). ${advice}. Then start it again.`,
    { cause, fields: { transactionalId } },
  );
}

/**
 * Whether a member failed by what no repetition mends: as a WRITER_REFUSED where it may not be one of the group, without
 * which nothing is written, and as a TOPIC_REFUSED where it may not read.
 */
export function memberRefused(
  cause: unknown,
  { groupId, topics }: { readonly groupId: string; readonly topics: readonly string[] },
): ConnectorError | undefined {
  const details = { cause, fields: { groupId } };
  switch (typeOf(cause)) {
    case 'GROUP_AUTHORIZATION_FAILED': {
      const text = `Kafka refuses a member of the group ${groupId} (${kafkaReason(cause)}).`;
      return new ConnectorError('WRITER_REFUSED', `${text} ${readGroup(groupId)}. Then start it again.`, details);
    }
    case 'TOPIC_AUTHORIZATION_FAILED': {
      const text = `Kafka lets the group ${groupId} not read ${topics.join(' or ')} (${kafkaReason(cause)}).`;
      const rights = topics.map((topic) => acl(`--topic ${topic}`, 'Read')).join('; ');
      const advice = `Give the connector's account the right Read: ${rights}. Then start it again.`;
      return new ConnectorError('TOPIC_REFUSED', `${text} ${advice}`, details);
    }
    default:
      return undefined;
  }
}

function readGroup(groupId: string): string {
  return `Give the connector's account the right Read on its group: ${acl(`--group ${groupId}`, 'Read')}`;
}

function acl(resource: string, operation: string): string {
  return `kafka-acls.sh --add --allow-principal User:<account> --operation ${operation} ${resource}`;
}
