import type { KafkaCluster } from '../../src/kafka/cluster.ts';
import { offsetKey, offsetPartition } from '../../src/kafka/offset-store.ts';

/** The key and the partition of the instruments source that most tests run. */
export const SOURCE_KEY = offsetKey('instruments', 'instruments');
export const SOURCE_PARTITION = offsetPartition(SOURCE_KEY);

/**
 * Fences the source's writer, as its next start would. Afterwards every transaction has ended, and what a reader sees
 * is final; a commit alone is visible only some milliseconds after it resolved.
 */
export async function fenceSource(kafka: KafkaCluster, prefix: string, key = SOURCE_KEY): Promise<void> {
  const writer = kafka.transactionalWriter(`${prefix}-sources-${offsetPartition(key)}`);
  await writer.open(async () => {}, AbortSignal.timeout(60_000));
  await writer.close();
}
