import type { Bounds, FetchedPart, LogClient } from '../../../src/kafka/kafkajs/kafkajs-log-client.ts';
import type { CommittedRecord } from '../../../src/kafka/record.ts';

/** What one fake connection does; what is left out succeeds, and a fetch beyond its parts is never answered. */
export interface ClientScript {
  readonly bounds?: () => Promise<Bounds>;
  /** What each fetch gives, by its number from 1. */
  readonly fetch?: (call: number, from: ReadonlyMap<number, bigint>) => Promise<readonly FetchedPart[]>;
  /** Partition 0 unless given, led by broker 1. */
  readonly leaders?: ReadonlyMap<number, readonly number[]>;
}

/** Connections that write down what is asked of them, one script for each in turn; the last one stands for all later. */
export function fakeLogClients(scripts: readonly ClientScript[]) {
  const steps: string[] = [];
  let opened = 0;
  const openClient = (): LogClient => {
    opened += 1;
    const id = opened;
    const script = scripts[Math.min(id, scripts.length) - 1] ?? {};
    let fetches = 0;
    const step = (name: string) => void steps.push(`${id} ${name}`);
    return {
      async connect() {
        step('connect');
      },
      byLeader: (partitions) => script.leaders ?? new Map([[1, partitions]]),
      async bounds(partitions) {
        const bounds = (await script.bounds?.()) ?? { low: 0n, high: 0n };
        return new Map(partitions.map((partition) => [partition, bounds]));
      },
      fetch(_leader, from) {
        fetches += 1;
        step(`fetch ${[...from].map(([partition, offset]) => `${partition}@${offset}`).join()}`);
        return script.fetch?.(fetches, from) ?? new Promise(() => {});
      },
      async close() {
        step('close');
      },
    };
  };
  return { openClient, steps };
}

/** Records of partition 0 with these offsets, and where the next fetch goes on: behind the last one unless given. */
export function part(offsets: readonly number[], nextOffset = (offsets.at(-1) ?? -1) + 1): readonly FetchedPart[] {
  return [{ partition: 0, records: offsets.map(recordAt), nextOffset: BigInt(nextOffset) }];
}

function recordAt(offset: number): CommittedRecord {
  const text = Buffer.from(`v${offset}`);
  return { topic: 't', partition: 0, key: null, value: text, headers: {}, offset: BigInt(offset), timestampMs: 12 };
}
