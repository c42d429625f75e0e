import type { LogTail } from '../../../src/kafka/log-reader.ts';
import { FreshRecords } from '../../../src/kafka/log-reader.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import type { MemoryBroker } from './memory-broker.ts';

/** Follows topics of a broker in memory. Partitions that do not exist yet are waited for. */
export function createMemoryTail(broker: MemoryBroker): LogTail {
  return {
    async follow({ topic, partitions, onlyNew = false, onRecord, signal }) {
      signal.throwIfAborted();
      const fresh = new FreshRecords();
      if (onlyNew && broker.topic(topic) !== undefined) {
        for (const partition of partitions) {
          const last = broker.readCommitted(topic, partition).at(-1);
          if (last !== undefined) fresh.passOver(partition, last.offset + 1n);
        }
      }
      const refused = Promise.withResolvers<never>();
      const give = () => {
        try {
          if (broker.topic(topic) === undefined) return;
          for (const partition of partitions) {
            broker
              .readCommitted(topic, partition)
              .filter((record) => fresh.isFresh(record))
              .forEach(onRecord);
          }
        } catch (error) {
          refused.reject(error);
        }
      };
      const stopListening = broker.onTransactionEnd(give);
      try {
        give();
        return await untilAborted(refused.promise, signal);
      } finally {
        stopListening();
      }
    },
  };
}
