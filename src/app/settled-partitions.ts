import type { TopicPartition } from '../kafka/group-reader.ts';
import type { TopicSpecification } from '../kafka/topic.ts';

/**
 * What the writer of one partition of the offsets topic settles before its position is read: that partition first, and
 * all that any source writes.
 */
export function settledPartitions(
  position: TopicPartition,
  topics: readonly TopicSpecification[],
): readonly TopicPartition[] {
  return [position, ...topics.filter(({ name }) => name !== position.topic).flatMap(allPartitions)];
}

export function allPartitions({ name, partitions }: TopicSpecification): TopicPartition[] {
  return Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition }));
}
