import type { Settings } from '../config/settings.ts';
import { runOffsetPartition, type Source } from '../connector/offset-partition.ts';
import { offsetPartition, readOffsets } from '../kafka/offset-store.ts';
import type { TopicPlan } from '../kafka/topic-plan.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import type { Context } from './context.ts';
import { createFailureNotices } from './failure-notices.ts';
import type { RequestedStates } from './requested-states.ts';

export interface SourcePartitions extends Pick<Context, 'kafka' | 'registry' | 'clock' | 'random'> {
  readonly settings: Settings;
  readonly sources: readonly Source[];
  readonly states: RequestedStates;
  readonly topics: Pick<TopicPlan, 'offsets' | 'notifications'>;
  readonly events: ConnectorEvents;
  readonly signal: AbortSignal;
}

/**
 * Runs all sources: one writer for each partition of the offsets topic that carries some.
 *
 * @returns the names of the sources that failed, when none is left to run; rejects with the signal's reason.
 */
export async function runSourcePartitions(parts: SourcePartitions): Promise<readonly string[]> {
  const { settings, kafka, clock, random, sources, states, topics, signal } = parts;
  const notices = createFailureNotices({ ...parts, prefix: settings.prefix, topic: topics.notifications });
  const events: ConnectorEvents = {
    ...parts.events,
    sourceFailed(failure) {
      parts.events.sourceFailed(failure);
      notices.tell(failure);
    },
  };
  const byPartition = Map.groupBy(sources, (source) => offsetPartition(source.offsetKey));
  const ended = new AbortController();
  const untilEnd = AbortSignal.any([signal, ended.signal]);
  const runs = [...byPartition].map(async ([partition, onPartition]) => {
    const transactionalId = `${settings.prefix}-sources-${partition}`;
    try {
      return await runOffsetPartition({
        partition,
        transactionalId,
        sources: onPartition,
        writer: kafka.transactionalWriter(transactionalId),
        async readOffsets(readSignal) {
          const offsets = readOffsets(kafka.logReader, topics.offsets.name, partition, readSignal);
          return (await Promise.all([offsets, states.catchUp(readSignal)]))[0];
        },
        targets: states.targets,
        waitsForOperator: settings.admin.enabled,
        clock,
        random,
        events,
        signal: untilEnd,
      });
    } catch (error) {
      // One partition that cannot go on ends the process, and with it the others in an orderly way.
      ended.abort(error);
      throw error;
    }
  });
  await Promise.allSettled(runs);
  await notices.settled();
  return (await Promise.all(runs)).flat();
}
