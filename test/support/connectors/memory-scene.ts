import type { TestContext } from 'node:test';
import { createStandingClock } from '../../../src/dev/simulator/clock.ts';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import type { SchemaRegistry } from '../../../src/records/avro/registry.ts';
import type { ConnectorOptions } from '../../../src/run/connector.ts';
import type { Clock } from '../../../src/support/clock.ts';
import { readCommitted } from '../kafka/kafka-real.ts';
import { MemoryBroker } from '../memory-kafka/memory-broker.ts';
import { createUnwatchedCluster } from '../memory-kafka/memory-cluster.ts';
import type { OwnSettings } from './connector-process.ts';
import { startConnector } from './running-connector.ts';

/**
 * The time of a connector and of its simulated provider together. It passes only while the connector sleeps or when the
 * test lets it, and then at once: a month takes seconds.
 */
function createSharedTime() {
  const provider = createStandingClock(Date.UTC(2026, 0, 5));
  let plans: { readonly atMs: number; readonly action: () => void }[] = [];
  /** Lets time pass while no connector runs. */
  const pass = (ms: number) => {
    const untilMs = provider.wallMs() + ms;
    for (;;) {
      const [next] = plans.filter(({ atMs }) => atMs <= untilMs).toSorted((a, b) => a.atMs - b.atMs);
      if (next === undefined) break;
      plans = plans.filter((plan) => plan !== next);
      provider.advance(next.atMs - provider.wallMs());
      next.action();
    }
    provider.advance(untilMs - provider.wallMs());
  };
  const connector: Clock = {
    wallMs: provider.wallMs,
    monotonicMs: provider.monotonicMs,
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      pass(ms);
      // Lets everything else that is ready run first, as a real wait would.
      await new Promise((resolve) => setImmediate(resolve));
      signal?.throwIfAborted();
    },
  };
  return {
    provider,
    connector,
    nowMs: provider.wallMs,
    after(ms: number, action: () => void) {
      plans.push({ atMs: provider.wallMs() + ms, action });
    },
    pass,
  };
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const PREFIX = 'memory';

type Sources = OwnSettings | readonly OwnSettings[];
export type MemoryScene = Awaited<ReturnType<typeof memoryScene>>;

/** A provider, Kafka in memory, and connectors that share one time with them: a month takes seconds. */
export async function memoryScene(t: TestContext, options: SimulatorOptions) {
  const time = createSharedTime();
  const simulator = await createSimulator({ clock: time.provider, ...options });
  t.after(() => simulator.close());
  const broker = new MemoryBroker(time.nowMs);
  const registry = createMemoryRegistry();
  const kafka = createUnwatchedCluster({ broker });
  /** A new client of the same Kafka, with what else a connector is given here. */
  const overrides = () => ({
    kafka: createUnwatchedCluster({ broker }),
    registry,
    clock: time.connector,
    random: () => 0.5,
  });
  const start = (source: Sources, own?: ConnectorOptions['overrides']) =>
    startConnector(t, {
      simulator,
      prefix: PREFIX,
      source,
      isQuick: false,
      overrides: { ...overrides(), ...own },
    });
  return {
    time,
    simulator,
    kafka,
    overrides,
    start,
    async live(ms: number, source: Sources) {
      const connector = await start(source);
      time.after(ms, () => void connector.stop());
      await connector.ended;
      return connector;
    },
    /** All that is committed on a topic, named without the prefix. */
    read: async (topic: string) => {
      const { partitions = 0 } = broker.topic(`${PREFIX}.${topic}`) ?? {};
      return readCommitted(kafka, `${PREFIX}.${topic}`, [...Array(partitions).keys()]);
    },
  };
}

/** A registry that takes every schema and numbers them. */
export function createMemoryRegistry(): SchemaRegistry {
  const texts: string[] = [];
  return {
    async schemaId(_subject, schema) {
      if (!texts.includes(schema)) texts.push(schema);
      return texts.indexOf(schema) + 1;
    },
    async schemaText(id) {
      const text = texts[id - 1];
      if (text === undefined) throw new Error(`No schema has the id ${id}.`);
      return text;
    },
  };
}
