import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import { universeViolations } from '../ledgers/universe-log.ts';
import { filtered, notificationsOn, offsetsOn, universeOnTopics } from '../ledgers/universe-on-topics.ts';
import { ledgerUniverse } from '../ledgers/universe-reading.ts';
import { MemoryBroker } from '../memory-kafka/memory-broker.ts';
import { createUnwatchedCluster } from '../memory-kafka/memory-cluster.ts';
import { createSharedTime, type SharedTime } from '../runner/shared-time.ts';
import { createMemoryRegistry, startOverridden } from './overridden-connector.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const POLL_INTERVAL_MS = 10 * MINUTE_MS;
export const EMPTY_COMMIT_INTERVAL_MS = HOUR_MS;
const COUNTRY = 'LI';
const PREFIX = 'quiet';

export interface QuietScene {
  readonly time: SharedTime;
  readonly simulator: Simulator;
  /** Runs a connector for this long, in the time that it shares with the provider, and stops it. */
  live(ms: number): Promise<void>;
  /** Something happens to an instrument inside the filter. */
  change(): void;
  /** What is wrong on the topics, and whatever was notified beside complete walks. */
  outcome(): Promise<{ violations: string[]; notified: unknown[]; events: number }>;
  offsets(): ReturnType<typeof offsetsOn>;
}

/** A provider of whose instruments few are inside the filter, Kafka in memory, and a month that takes seconds. */
export async function createQuietScene(
  t: TestContext,
  options: SimulatorOptions = {},
  source: Readonly<Record<string, string | number>> = {},
): Promise<QuietScene> {
  const time = createSharedTime();
  const simulator = await createSimulator({ instruments: 100, seed: 5, clock: time.provider, ...options });
  t.after(() => simulator.close());
  const broker = new MemoryBroker(time.nowMs);
  const kafka = createUnwatchedCluster({ broker });
  const registry = createMemoryRegistry();
  const inside = filtered(simulator, { legalCountry: COUNTRY });
  const first = await ledgerUniverse(inside);
  assert.ok(first.size > 0 && first.size < 20, `${first.size} instruments are inside the filter`);
  let changes = 0;
  return {
    time,
    simulator,
    async live(ms) {
      const connector = await startOverridden(t, {
        simulator,
        prefix: PREFIX,
        overrides: { kafka: createUnwatchedCluster({ broker }), registry, clock: time.connector, random: () => 0.5 },
        source: {
          legalCountry: COUNTRY,
          pollInterval: `${POLL_INTERVAL_MS}ms`,
          emptyCommitInterval: `${EMPTY_COMMIT_INTERVAL_MS}ms`,
          // No walk may commit the offset in the stream's place.
          walkInterval: '365d',
          ...source,
        },
      });
      time.after(ms, () => void connector.stop());
      assert.deepEqual(await connector.ended, []);
      const failures = connector.seen.filter(({ name }) => name === 'sourceFailed' || name === 'writerLost');
      assert.deepEqual(failures, []);
    },
    change() {
      const ids = [...inside.ledger.instruments()].map(({ id }) => id);
      const id = ids[changes++ % ids.length];
      assert.ok(id);
      simulator.publish({ kind: 'datachange', id });
    },
    async outcome() {
      const log = await universeOnTopics({ kafka, prefix: PREFIX, simulator: inside, first, isDue: () => true });
      const reported = await notificationsOn(kafka, PREFIX);
      return {
        violations: universeViolations(log),
        notified: reported.map(({ kind }) => kind).filter((kind) => kind !== 'walk-completed'),
        events: log.events.length,
      };
    },
    offsets: () => offsetsOn(kafka, PREFIX),
  };
}

/** Events of others: the provider filters them out, and the offset moves. */
export function othersHappen({ time, simulator }: QuietScene, everyMs: number, untilMs: number, count: number): void {
  const others = [...simulator.ledger.instruments({ legalCountry: 'CH' })].map(({ id }) => id);
  let next = 0;
  for (let atMs = everyMs; atMs <= untilMs; atMs += everyMs) {
    time.after(atMs, () => {
      for (let made = 0; made < count; made++) {
        const id = others[next++ % others.length];
        if (id !== undefined) simulator.publish({ kind: 'datachange', id });
      }
    });
  }
}
