import type { CurrentDigests } from '../../avro/current-digest.ts';
import type { LogReader } from '../../kafka/log-reader.ts';
import type { TargetTopic } from '../../kafka/target-topic.ts';
import { Census } from '../core/census.ts';

/**
 * What the instruments topic holds now: the newest record of each id, as a digest. Records of an earlier schema are
 * read in it and taken as the current one would write them, so that a new schema alone is no correction.
 */
export async function readCensus(options: {
  readonly reader: LogReader;
  readonly topic: TargetTopic;
  readonly digests: CurrentDigests;
  readonly signal: AbortSignal;
}): Promise<Census> {
  const { reader, topic, digests, signal } = options;
  const census = new Census();
  // Of another schema; the newest value of each id, since a later record replaces it.
  const others = new Map<bigint, Buffer>();
  await reader.readToEnd({
    topic: topic.name,
    partitions: Array.from({ length: topic.partitions }, (_, partition) => partition),
    onRecord({ key, value }) {
      const id = BigInt(String(key));
      others.delete(id);
      if (value === null) return census.delete(id);
      const found = digests.of(value);
      if (!(found instanceof Promise)) return census.put(id, found.digest, found.isCurrentSchema);
      found.catch(() => {});
      others.set(id, value);
    },
    signal,
  });
  for (const [id, value] of others) {
    const { digest, isCurrentSchema } = await digests.of(value);
    census.put(id, digest, isCurrentSchema);
  }
  return census;
}
