import type { TestContext } from 'node:test';
import type { KafkaCluster } from '../../src/kafka/cluster.ts';
import { offsetKey, offsetPartition } from '../../src/kafka/offset-store.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { type Ran, runWith } from '../unit/cli/terminal.ts';
import { connectorEnvironment, type OwnSettings, settingsText } from './connector-process.ts';
import { eventually } from './eventually.ts';
import { kafkaOrSkip, readCommitted } from './kafka-real.ts';
import { type RunningConnector, startConnector } from './running-connector.ts';
import { settingsFile } from './settings-file.ts';
import { stackOrSkip, uniquePrefix } from './stack.ts';

const ALL_PARTITIONS = [0, 1, 2, 3, 4, 5];

/** Two sources of events whose offsets lie on one partition, so that they share a writer, and topics of their own. */
export interface Neighbours {
  readonly kafka: KafkaCluster;
  readonly simulator: Simulator;
  readonly prefix: string;
  /** Their names. */
  readonly first: string;
  readonly second: string;
  topicOf(source: string): string;
  start(): Promise<RunningConnector>;
  spconnect(line: string): Promise<Ran>;
  /** Lets something happen at the provider until a source has written more than before. */
  writesOn(source: string): Promise<void>;
}

/** Undefined where no Kafka can be started: the test is skipped then. */
export async function neighbours(t: TestContext, env: Record<string, string> = {}): Promise<Neighbours | undefined> {
  const stack = await stackOrSkip(t);
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!stack || !kafka) return undefined;
  const simulator = await createSimulator({ instruments: 30, seed: 9, port: 0 });
  t.after(() => simulator.close());
  const prefix = uniquePrefix('beside');
  const [first, second] = ['first', neighbourOf('first')];
  const source: OwnSettings[] = [first, second].map((name) => {
    return { name, type: 'events', topics: `{ instrument-events: ${name} }`, pollInterval: '100ms' };
  });
  const file = await settingsFile(t, settingsText(source));
  const topicOf = (name: string) => `${prefix}.${name}`;
  const count = async (name: string) => (await readCommitted(kafka, topicOf(name), ALL_PARTITIONS)).length;
  return {
    kafka,
    simulator,
    prefix,
    first,
    second,
    topicOf,
    start: () => startConnector(t, { stack, simulator, prefix, source, env }),
    spconnect: (line) =>
      runWith([...line.split(' '), '--config', file], {
        env: connectorEnvironment(stack, simulator, { TOPIC_PREFIX: prefix, ...env }),
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

function neighbourOf(name: string): string {
  const partitionOf = (own: string) => offsetPartition(offsetKey(own, 'events'));
  for (let tried = 0; ; tried++) {
    if (partitionOf(`second-${tried}`) === partitionOf(name)) return `second-${tried}`;
  }
}
