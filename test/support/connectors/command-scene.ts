import type { TestContext } from 'node:test';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { type Ran, runWith } from '../../unit/commands/shell/terminal.ts';
import { kafkaOrSkip } from '../kafka/kafka-real.ts';
import { stackOrSkip, type TestStack, uniquePrefix } from '../kafka/stack.ts';
import { connectorEnvironment, quickSettings, settingsText } from './connector-process.ts';
import { type RunningConnector, startConnector } from './running-connector.ts';
import { settingsFile } from './settings-file.ts';

/** An installation of its own, and the command line as an operator uses it there. */
export interface CommandScene {
  readonly stack: TestStack;
  readonly simulator: Simulator;
  readonly kafka: KafkaCluster;
  readonly prefix: string;
  /** A connector with the settings of the scene, stopped when the test ends. */
  start(env?: Readonly<Record<string, string>>): Promise<RunningConnector>;
  /** Runs a command line with the scene's settings file. */
  spconnect(line: string, env?: Readonly<Record<string, string>>): Promise<Ran>;
}

/** Undefined where no Kafka can be started: the test is skipped then. */
export async function commandScene(
  t: TestContext,
  options: {
    readonly simulator?: SimulatorOptions;
    /** Settings of the one source. */
    readonly source?: Readonly<Record<string, string | number>>;
    /** Further lines of the settings file. */
    readonly more?: string;
  } = {},
): Promise<CommandScene | undefined> {
  const stack = await stackOrSkip(t);
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!stack || !kafka) return undefined;
  const simulator = await createSimulator({ instruments: 50, seed: 4, port: 0, ...options.simulator });
  t.after(() => simulator.close());
  const prefix = uniquePrefix('command');
  const { source = {}, more = '' } = options;
  const file = await settingsFile(t, settingsText({ ...quickSettings(source.type), ...source }, more));
  return {
    stack,
    simulator,
    kafka,
    prefix,
    start: (env = {}) => startConnector(t, { stack, simulator, prefix, source, more, env }),
    spconnect(line, env = {}) {
      const environment = connectorEnvironment(stack, simulator, { TOPIC_PREFIX: prefix, ...env });
      return runWith([...line.split(' '), '--config', file], { env: environment });
    },
  };
}
