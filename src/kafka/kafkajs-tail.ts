import { ConnectorError } from '../errors.ts';
import { backOffMs, type Random } from '../support/back-off.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { FreshRecords } from './fresh-records.ts';
import { kafkaReason } from './kafkajs-errors.ts';
import { type OwnGroupOptions, openOwnGroup, ReadRefused } from './kafkajs-own-group.ts';
import { findEnds } from './kafkajs-reader.ts';
import type { FollowLog, LogTail } from './log-tail.ts';
import { StallWatch } from './stall-watch.ts';

export interface KafkajsTailOptions extends OwnGroupOptions {
  readonly random: Random;
}

/**
 * Follows topics with a kafkajs consumer in a group of its own. A consumer that has crashed, or whose fetches get no
 * answers (kafkajs would ask the same dead connection again and again), is left behind and a new group joined: it reads
 * from the beginning again, and only what is new is given.
 */
export function createKafkajsTail(options: KafkajsTailOptions): LogTail & { close(): Promise<void> } {
  const closing = new AbortController();
  const groups = new Set<Promise<void>>();
  return {
    async follow(request) {
      const signal = AbortSignal.any([request.signal, closing.signal]);
      const fresh = new FreshRecords();
      const { clock, random, log, tuning } = options;
      const startAt = request.onlyNew === true ? await endsOf(options, { ...request, signal }) : undefined;
      for (const [partition, end] of startAt ?? []) fresh.passOver(partition, end);
      let failures = 0;
      const onFetched = () => {
        failures = 0;
      };
      for (;;) {
        signal.throwIfAborted();
        const cause = await untilFailure(options, { ...request, signal }, { fresh, onFetched, groups, startAt });
        signal.throwIfAborted();
        if (cause instanceof ReadRefused) throw cause.cause;
        failures += 1;
        const waitMs = backOffMs(failures, tuning.tailBackOff, random);
        log.warn({ topic: request.topic, failures, waitMs, reason: kafkaReason(cause) }, 'topic is followed anew');
        await clock.sleep(waitMs, signal);
      }
    },
    async close() {
      closing.abort(new ConnectorError('KAFKA_UNREACHABLE', 'The connection to Kafka was closed while following.'));
      await Promise.allSettled(groups);
    },
  };
}

async function endsOf(options: OwnGroupOptions, request: FollowLog): Promise<ReadonlyMap<number, bigint>> {
  const { topic, signal } = request;
  try {
    const ends = await untilAborted(findEnds(options, request, signal), signal);
    return new Map([...ends].map(([partition, { high }]) => [partition, high]));
  } catch (cause) {
    signal.throwIfAborted();
    const text = `The end of topic ${topic} could not be asked for (${kafkaReason(cause)}).`;
    throw new ConnectorError('KAFKA_UNREACHABLE', text, { cause, fields: { topic } });
  }
}

interface Membership {
  readonly fresh: FreshRecords;
  readonly onFetched: () => void;
  readonly groups: Set<Promise<void>>;
  readonly startAt: ReadonlyMap<number, bigint> | undefined;
}

/** Follows in one group until something goes wrong, which is returned. */
async function untilFailure(
  options: KafkajsTailOptions,
  { topic, partitions, onRecord, room, signal }: FollowLog,
  { fresh, onFetched, groups, startAt }: Membership,
): Promise<unknown> {
  const { tuning, clock } = options;
  const stalled = new StallWatch(tuning.readStallMs, clock);
  const group = openOwnGroup(options, {
    topic,
    partitions,
    waitMs: tuning.tailWaitMs,
    fresh,
    groups,
    ...(startAt && { startAt }),
    onRecord,
    room,
    onHeldBack: () => stalled.moved(),
    onFetched() {
      stalled.moved();
      onFetched();
    },
  });
  try {
    return await untilAborted(group.failed, AbortSignal.any([signal, stalled.signal]));
  } catch (cause) {
    return cause;
  } finally {
    stalled.end();
    group.leave();
  }
}
