import type { TestContext } from 'node:test';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { CommittedRecord } from '../../../src/kafka/record.ts';
import type { SchemaRegistry } from '../../../src/records/avro/registry.ts';
import type { ConnectorOptions } from '../../../src/run/connector.ts';
import { readCommitted } from '../kafka/kafka-real.ts';
import { MemoryBroker } from '../memory-kafka/memory-broker.ts';
import { createUnwatchedCluster } from '../memory-kafka/memory-cluster.ts';
import { createSharedTime, type SharedTime } from '../runner/shared-time.ts';
import type { OwnSettings } from './connector-process.ts';
import { type RunningConnector, startConnector } from './running-connector.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const PREFIX = 'memory';

/** A provider, Kafka in memory, and connectors that share one time with them: a month takes seconds. */
export interface MemoryScene {
  readonly time: SharedTime;
  readonly simulator: Simulator;
  readonly kafka: KafkaCluster;
  /** A new client of the same Kafka, with what else a connector is given here. */
  overrides(): NonNullable<ConnectorOptions['overrides']>;
  start(
    source: OwnSettings | readonly OwnSettings[],
    overrides?: ConnectorOptions['overrides'],
  ): Promise<RunningConnector>;
  /** Runs a connector for this long and stops it. */
  live(ms: number, source: OwnSettings | readonly OwnSettings[]): Promise<RunningConnector>;
  /** All that is committed on a topic, named without the prefix. */
  read(topic: string): Promise<CommittedRecord[]>;
}

export async function memoryScene(t: TestContext, options: SimulatorOptions): Promise<MemoryScene> {
  const time = createSharedTime();
  const simulator = await createSimulator({ clock: time.provider, ...options });
  t.after(() => simulator.close());
  const broker = new MemoryBroker(time.nowMs);
  const registry = createMemoryRegistry();
  const kafka = createUnwatchedCluster({ broker });
  const scene: MemoryScene = {
    time,
    simulator,
    kafka,
    overrides: () => ({
      kafka: createUnwatchedCluster({ broker }),
      registry,
      clock: time.connector,
      random: () => 0.5,
    }),
    start: (source, overrides) =>
      startConnector(t, {
        simulator,
        prefix: PREFIX,
        source,
        isQuick: false,
        overrides: { ...scene.overrides(), ...overrides },
      }),
    async live(ms, source) {
      const connector = await scene.start(source);
      time.after(ms, () => void connector.stop());
      await connector.ended;
      return connector;
    },
    read: async (topic) => {
      const { partitions = 0 } = broker.topic(`${PREFIX}.${topic}`) ?? {};
      return readCommitted(kafka, `${PREFIX}.${topic}`, [...Array(partitions).keys()]);
    },
  };
  return scene;
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
