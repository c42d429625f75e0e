import type { GroupReader, ReadBatch } from '../../../src/kafka/group-reader.ts';
import { HeldPartitions } from '../../../src/kafka/kafkajs/group/held-partitions.ts';
import type { TopicPartition } from '../../../src/kafka/topic.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import type { MemoryBroker } from './memory-broker.ts';
import type { GroupMembership } from './memory-groups.ts';

/** Small, so that a test sees several batches. */
const MAX_BATCH_RECORDS = 10;

/** Where a member reads on in one partition. A new one stands in its place after each join. */
interface Cursor {
  readonly partition: TopicPartition;
  next: bigint;
  busy: boolean;
}

/** A member of a group of a broker in memory. It fetches whenever a transaction has ended or a batch was taken. */
export function createMemoryGroupReader(broker: MemoryBroker): GroupReader {
  return {
    async run({ groupId, topics, assigned, joined, members = () => {}, assignor, signal }) {
      signal.throwIfAborted();
      const failed = Promise.withResolvers<never>();
      const cursors = new Map<string, Cursor>();
      const readOn = async (key: string, cursor: Cursor) => {
        if (cursor.busy) return;
        cursor.busy = true;
        while (cursors.get(key) === cursor) {
          const batch = fetchFrom(broker, cursor);
          if (batch === undefined) break;
          cursor.next = batch.nextOffset;
          await held.offer(cursor.partition, batch);
        }
        cursor.busy = false;
      };
      const held = new HeldPartitions({
        assigned,
        ...(joined && { joined }),
        async ownershipProof(_sinceMs, waiting) {
          // Who is no member any more hears nothing; for a member, each moment confirms it.
          if (!broker.groups.isMember(groupId, member)) await untilAborted(new Promise<never>(() => {}), waiting);
        },
        failed: failed.reject,
        fetcher: {
          pause: (partitions) => partitions.forEach((partition) => void cursors.delete(JSON.stringify(partition))),
          readFrom(partition, next) {
            const cursor = { partition, next, busy: false };
            cursors.set(JSON.stringify(partition), cursor);
            void readOn(JSON.stringify(partition), cursor);
          },
        },
      });
      const stopListening = broker.onTransactionEnd(() => {
        for (const [key, cursor] of cursors) void readOn(key, cursor);
      });
      const member: GroupMembership = { topics, assignor, joined: (partitions) => held.rejoin(partitions), members };
      const leave = broker.groups.join(groupId, member);
      try {
        return await untilAborted(failed.promise, signal);
      } finally {
        cursors.clear();
        held.end(signal.aborted ? signal.reason : new Error('the member could not go on'));
        stopListening();
        leave();
      }
    },
  };
}

function fetchFrom(broker: MemoryBroker, { partition: { topic, partition }, next }: Cursor): ReadBatch | undefined {
  const ends = broker.ends(topic, partition);
  const end = Math.min(ends.stable, Number(next) + MAX_BATCH_RECORDS);
  if (next >= end) return undefined;
  const records = broker.readCommitted(topic, partition).filter(({ offset }) => offset >= next && offset < end);
  return { records, nextOffset: BigInt(end), endOffset: BigInt(ends.log) };
}
