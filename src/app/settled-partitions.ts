import type { TopicPartition, TopicSpecification } from '../kafka/topic.ts';

/**
 * What the writer of one partition of the offsets topic abortHanging before its position is read: that partition, and all of
 * the topics that its sources write.
 */
export function settledPartitions(
  position: TopicPartition,
  topics: readonly TopicSpecification[],
): readonly TopicPartition[] {
  return [position, ...topics.flatMap(allPartitions)];
}

export function allPartitions({ name, partitions }: TopicSpecification): TopicPartition[] {
  return Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition }));
}
