import type { TestContext } from 'node:test';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import { readCommitted } from '../kafka/kafka-real.ts';
import { universeViolations } from '../ledgers/universe-log.ts';
import { universeOnTopics } from '../ledgers/universe-on-topics.ts';
import { type LedgerEvent, ledgerUniverse } from '../ledgers/universe-reading.ts';
import { MemoryBroker } from '../memory-kafka/memory-broker.ts';
import { createUnwatchedCluster } from '../memory-kafka/memory-cluster.ts';
import { createSharedTime, type SharedTime } from '../runner/shared-time.ts';
import { createMemoryRegistry, type OverriddenConnector, startOverridden } from './overridden-connector.ts';

export const PREFIX = 'following';
export const INSTRUMENTS = 200;

export interface FollowingScene {
  readonly time: SharedTime;
  readonly simulator: Simulator;
  readonly kafka: ReturnType<typeof createUnwatchedCluster>;
  readonly connector: OverriddenConnector;
  readonly ids: readonly string[];
  /** So many events of as many instruments; gives the offset of the last. */
  change(count: number): string;
  /** Resolves when the source has committed this offset of the stream. */
  reached(offset: string | null): Promise<void>;
  /** Stops the connector; what is wrong on the topics, when these events had to come. */
  violations(isDue?: (event: LedgerEvent) => boolean): Promise<string[]>;
  deadLetters(): ReturnType<typeof readCommitted>;
}

/** A source that has walked and now follows the stream, with Kafka in memory and waits that take no time. */
export async function followingScene(
  t: TestContext,
  options: SimulatorOptions = {},
  source: Readonly<Record<string, string | number>> = {},
): Promise<FollowingScene> {
  const time = createSharedTime();
  const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 9, clock: time.provider, ...options });
  t.after(() => simulator.close());
  const broker = new MemoryBroker(time.nowMs);
  const kafka = createUnwatchedCluster({ broker });
  const first = await ledgerUniverse(simulator);
  const connector = await startOverridden(t, {
    simulator,
    prefix: PREFIX,
    overrides: {
      kafka: createUnwatchedCluster({ broker }),
      registry: createMemoryRegistry(),
      clock: time.connector,
      random: () => 0.5,
    },
    // A walk would heal what the stream loses.
    source: { walkInterval: '365d', ...source },
  });
  await connector.until('the walk', (seen) => seen.some(({ name }) => name === 'walkCompleted'));
  const ids = [...simulator.ledger.instruments()].map(({ id }) => id);
  return {
    time,
    simulator,
    kafka,
    connector,
    ids,
    change(count) {
      const offsets = ids.slice(0, count).map((id) => simulator.publish({ kind: 'datachange', id }).offset);
      return offsets.at(-1) ?? '';
    },
    reached: (offset) =>
      connector.until(`the offset ${offset}`, (seen) =>
        seen.some(({ name, fields }) => name === 'streamCommitted' && fields.since === offset),
      ),
    async violations(isDue = () => true) {
      await connector.stop();
      return universeViolations(await universeOnTopics({ kafka, prefix: PREFIX, simulator, first, isDue }));
    },
    deadLetters: () => readCommitted(kafka, `${PREFIX}.dead-letters`),
  };
}
