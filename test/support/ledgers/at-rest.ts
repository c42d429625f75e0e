import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { offsetKey, offsetPartition } from '../../../src/kafka/offset-store.ts';
import { operatorId } from '../../../src/run/state-operation.ts';

/** The key and the partition of the instruments source that most tests run. */
export const SOURCE_KEY = offsetKey('instruments', 'instruments');
export const SOURCE_PARTITION = offsetPartition(SOURCE_KEY);

/**
 * Fences the source's writer, as its next start would. Afterwards every transaction has ended, and what a reader sees
 * is final; a commit alone is visible only some milliseconds after it resolved.
 */
export function fenceSource(kafka: KafkaCluster, prefix: string, key = SOURCE_KEY): Promise<void> {
  return fence(kafka, `${prefix}-sources-${offsetPartition(key)}`);
}

/** The same for what operators have written: what is wanted of the sources, and dead letters that were retried. */
export function fenceOperators(kafka: KafkaCluster, prefix: string): Promise<void> {
  return fence(kafka, operatorId(prefix));
}

async function fence(kafka: KafkaCluster, transactionalId: string): Promise<void> {
  const writer = kafka.transactionalWriter(transactionalId);
  await writer.open(async () => {}, AbortSignal.timeout(600_000));
  await writer.close();
}
