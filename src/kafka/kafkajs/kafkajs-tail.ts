import { ConnectorError } from '../../errors.ts';
import { backOffMs, type Random } from '../../support/back-off.ts';
import type { Log } from '../../support/log.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import { FreshRecords } from '../fresh-records.ts';
import type { Bounds } from '../log-client.ts';
import { ReadRefused, readOn } from '../log-reading.ts';
import type { FollowLog, LogTail } from '../log-tail.ts';
import { StallWatch } from '../stall-watch.ts';
import { isLeaderless, kafkaReason } from './kafkajs-errors.ts';
import { type KafkajsReaderOptions, keepWithin } from './kafkajs-reader.ts';
import { OpenClients } from './open-clients.ts';

export interface KafkajsTailOptions extends KafkajsReaderOptions {
  readonly random: Random;
  readonly log: Log;
}

/**
 * Follows topics, each through a connection of its own. A connection that fails, or whose fetches get no responses
 * (kafkajs would ask the same dead connection again and again), is given up, and another one goes on where it was.
 */
export function createKafkajsTail(options: KafkajsTailOptions): LogTail & { close(): Promise<void> } {
  const closing = new AbortController();
  const clients = new OpenClients();
  return {
    async follow(request) {
      const { clock, random, log, tuning } = options;
      const { topic, onlyNew = false } = request;
      const following: Following = {
        request: { ...request, signal: AbortSignal.any([request.signal, closing.signal]) },
        positions: new Map(),
        fresh: new FreshRecords(),
        failures: 0,
        clients,
      };
      const { signal } = following.request;
      for (;;) {
        signal.throwIfAborted();
        const cause = await untilFailure(options, following);
        signal.throwIfAborted();
        if (cause instanceof ReadRefused) throw cause.cause;
        // The end at the beginning is unknown then, and so is which records are new.
        if (onlyNew && following.positions.size === 0 && !isLeaderless(cause)) throw endUnknown(topic, cause);
        following.failures += 1;
        const waitMs = backOffMs(following.failures, tuning.tailBackOff, random);
        const { failures } = following;
        log.warn({ topic, failures, waitMs, reason: kafkaReason(cause) }, 'topic is followed again');
        await clock.sleep(waitMs, signal);
      }
    },
    async close() {
      closing.abort(new ConnectorError('KAFKA_UNREACHABLE', 'The connection to Kafka was closed while following.'));
      await clients.closed();
    },
  };
}

interface Following {
  readonly request: FollowLog;
  /** Empty until the first connection has learnt where the partitions begin and end. */
  readonly positions: Map<number, bigint>;
  readonly fresh: FreshRecords;
  failures: number;
  readonly clients: OpenClients;
}

/** Follows through one connection until something goes wrong, which is returned. */
async function untilFailure(options: KafkajsTailOptions, following: Following): Promise<unknown> {
  const { request, positions, fresh, clients } = following;
  const { topic, partitions, onRecord, room } = request;
  const stalled = new StallWatch(options.tuning.readStallMs, options.clock);
  const signal = AbortSignal.any([request.signal, stalled.signal]);
  const client = options.openClient(topic);
  const follow = async () => {
    await untilAborted(client.connect(), signal);
    const bounds = await untilAborted(client.bounds(partitions, undefined), signal);
    if (positions.size > 0) keepWithin(positions, bounds);
    else for (const [partition, at] of bounds) positions.set(partition, beginning(request, at));
    await readOn({
      client,
      positions,
      waitMs: options.tuning.tailWaitMs,
      onRecord: (record) => fresh.isFresh(record) && onRecord(record),
      room,
      onFetched() {
        following.failures = 0;
      },
      stalled,
      signal,
    });
  };
  return clients
    .using(client, follow)
    .catch((cause: unknown) => cause)
    .finally(() => stalled.end());
}

function beginning({ onlyNew = false }: FollowLog, { low, high }: Bounds): bigint {
  return onlyNew ? high : low;
}

function endUnknown(topic: string, cause: unknown): ConnectorError {
  const text = `The end of topic ${topic} could not be asked for (${kafkaReason(cause)}).`;
  return new ConnectorError('KAFKA_UNREACHABLE', text, { cause, fields: { topic } });
}
