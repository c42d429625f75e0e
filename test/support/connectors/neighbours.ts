import type { TestContext } from 'node:test';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { offsetKey, offsetPartition } from '../../../src/kafka/offset-store.ts';
import type { ConnectorOptions } from '../../../src/run/connector.ts';
import { type Ran, runWith } from '../../unit/commands/shell/terminal.ts';
import { kafkaOrSkip, readCommitted } from '../kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../kafka/stack.ts';
import { eventually } from '../runner/eventually.ts';
import { connectorEnvironment, type OwnSettings, settingsText } from './connector-process.ts';
import { type RunningConnector, startConnector } from './running-connector.ts';
import { settingsFile } from './settings-file.ts';

/** Any of those of the offsets topic. */
const PARTITION = 8;
const ALL_PARTITIONS = [0, 1, 2, 3, 4, 5];

/** Sources of events whose offsets lie on one partition, so that they share a writer, each with a topic of its own. */
export interface Neighbours {
  readonly kafka: KafkaCluster;
  readonly simulator: Simulator;
  readonly prefix: string;
  readonly names: readonly string[];
  topicOf(source: string): string;
  start(overrides?: ConnectorOptions['overrides']): Promise<RunningConnector>;
  spconnect(line: string): Promise<Ran>;
  /** Lets something happen at the provider until a source has written more than before. */
  writesOn(source: string): Promise<void>;
}

/** Undefined where no Kafka can be started: the test is skipped then. */
export async function neighbours(
  t: TestContext,
  options: {
    readonly count: number;
    /** Further settings of Kafka, beginning with a comma. */
    readonly kafka?: string;
  },
): Promise<Neighbours | undefined> {
  const stack = await stackOrSkip(t);
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!stack || !kafka) return undefined;
  const simulator = await createSimulator({ instruments: 30, seed: 9, port: 0 });
  t.after(() => simulator.close());
  const prefix = uniquePrefix('beside');
  const names = namesOnOnePartition(options.count);
  const source: OwnSettings[] = names.map((name) => {
    return { name, type: 'events', topics: `{ instrument-events: ${name} }`, pollInterval: '100ms' };
  });
  const file = await settingsFile(t, settingsText(source, '', options.kafka));
  const topicOf = (name: string) => `${prefix}.${name}`;
  const count = async (name: string) => (await readCommitted(kafka, topicOf(name), ALL_PARTITIONS)).length;
  return {
    kafka,
    simulator,
    prefix,
    names,
    topicOf,
    start: (overrides = {}) => startConnector(t, { ...options, stack, simulator, prefix, source, overrides }),
    spconnect: (line) =>
      runWith([...line.split(' '), '--config', file], {
        env: connectorEnvironment(stack, simulator, { TOPIC_PREFIX: prefix }),
      }),
    async writesOn(name) {
      const before = await count(name);
      const goOn = () => {
        simulator.change(2);
        return count(name);
      };
      await eventually(`${name} writes on`, goOn, (now) => now > before);
    },
  };
}

/** Names of sources of events whose offsets lie on one partition. */
export function namesOnOnePartition(count: number): string[] {
  const names: string[] = [];
  for (let tried = 0; names.length < count; tried++) {
    const name = `source-${tried}`;
    if (offsetPartition(offsetKey(name, 'events')) === PARTITION) names.push(name);
  }
  return names;
}
