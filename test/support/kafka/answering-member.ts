import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { TopicPartition } from '../../../src/kafka/topic.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';

interface AnsweringOptions {
  readonly cluster: KafkaCluster;
  /** Read by a group of this name. */
  readonly input: string;
  /** Has at least as many partitions. */
  readonly output: string;
  readonly signal: AbortSignal;
  /** A partition is ours, and reading it begins. */
  readonly onAssigned?: (partition: TopicPartition) => void;
}

export type AnsweringMember = ReturnType<typeof answerInputs>;

/**
 * A member of a group that copies each record of its input to its output exactly once, as the price processor does: one
 * transactional id per input partition, and the consumer offset in the transaction of the answers.
 */
export function answerInputs({ cluster, input, output, signal, onAssigned }: AnsweringOptions) {
  const stopped = new AbortController();
  const ended = cluster.groupReader.run({
    groupId: input,
    topics: [input],
    signal: AbortSignal.any([stopped.signal, signal]),
    async assigned(held, lost) {
      const { partition } = held;
      const writer = cluster.transactionalWriter(`${input}-${partition}`);
      const neverWhenLost = async <T>(work: Promise<T>): Promise<T> => {
        try {
          return await work;
        } catch (error) {
          // Fenced: the partition has another owner, of which this member will hear.
          await untilAborted(new Promise<never>(() => {}), AbortSignal.any([lost, AbortSignal.timeout(20_000)]));
          throw error;
        }
      };
      let position = await neverWhenLost(
        writer.open(async () => (await cluster.consumerOffset(input, held, lost))?.offset ?? 0n, lost),
      );
      onAssigned?.(held);
      return {
        position: () => position,
        async take({ records, nextOffset }) {
          const answers = records.map(({ key, value }) => ({ topic: output, partition, key, value, headers: {} }));
          await neverWhenLost(
            writer.commit({
              records: answers,
              consumerOffset: { groupId: input, topic: input, partition, offset: nextOffset },
            }),
          );
          position = nextOffset;
        },
      };
    },
  });
  ended.catch(() => {});
  return {
    /** Rejects when the member ended otherwise than by `stop`. */
    async stop() {
      const reason = new Error('stopped');
      stopped.abort(reason);
      await ended.catch((error: unknown) => {
        if (error !== reason) throw error;
      });
    },
  };
}
