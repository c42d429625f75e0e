import { type TestContext, test } from 'node:test';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { createSimulator } from '../../../src/dev/simulator/simulator.ts';
import { type TopicPlan, topicPlan } from '../../../src/kafka/topic-plan.ts';
import { runWith } from '../../unit/commands/shell/terminal.ts';
import { kafkaOrSkip, readCommitted } from '../kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../kafka/stack.ts';
import { type ConnectorCommand, startCommand } from './connector-command.ts';
import {
  connectorEnvironment,
  type OwnSettings,
  quickSettings,
  settingsText,
  startKillableConnector,
  startProcess,
} from './connector-process.ts';
import { startConnector } from './running-connector.ts';
import { MAIN, settingsFile } from './settings-file.ts';

const PARTITIONS = 6;

export type Installation = NonNullable<Awaited<ReturnType<typeof installation>>>;

export interface InstallationOptions {
  readonly simulator?: SimulatorOptions;
  /** One source with these settings of its own, beside those that make it quick, or several. */
  readonly source?: OwnSettings | readonly OwnSettings[];
  /** The settings of prices, as they stand in the file. */
  readonly prices?: string;
  /** Further lines of the settings file. */
  readonly more?: string;
  /** Further settings of Kafka, beginning with a comma. */
  readonly kafka?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** A test on an installation of its own; skipped, with the reason, where no Kafka can be started. */
export function testInstallation(
  title: string,
  options: InstallationOptions,
  body: (t: TestContext, at: Installation) => Promise<void>,
): void {
  test(title, async (t) => {
    const at = await installation(t, options);
    if (at) await body(t, at);
  });
}

/**
 * A simulated provider and a prefix of its own on the real broker, with connectors and the command line for them. Undefined
 * where no Kafka can be started: the test is skipped then.
 */
export async function installation(t: TestContext, options: InstallationOptions = {}) {
  const stack = await stackOrSkip(t);
  const broker = await kafkaOrSkip(t);
  if (!stack || !broker) return undefined;
  const kafka = broker.connect();
  const simulator = await createSimulator({ instruments: 50, seed: 4, port: 0, ...options.simulator });
  t.after(() => simulator.close());
  const prefix = uniquePrefix('test');
  const plan = topicPlan({ prefix, names: {}, partitions: PARTITIONS, replicationFactor: 1 });
  const { source = {}, env: ownEnv = {} } = options;
  const market = `marketData: { url: "${simulator.marketDataUrl}", requestsPerSecond: 1000 }`;
  const prices = options.prices === undefined ? '' : `${market}\nprices: ${options.prices}`;
  const more = [prices, options.more ?? ''].join('\n');
  const quick = [source].flat().map((own) => ({ ...quickSettings(own.type), ...own }));
  const text = settingsText(quick, more, options.kafka);
  const file = await settingsFile(t, text);
  const environment = (env: Readonly<Record<string, string>>) =>
    connectorEnvironment(stack, simulator, { TOPIC_PREFIX: prefix, ...ownEnv, ...env });
  const common = { stack, simulator, prefix, more };
  return {
    stack,
    simulator,
    broker,
    kafka,
    prefix,
    plan,
    file,
    /** All that is committed on a topic, named without the prefix: also a commit whose markers are not written yet. */
    read(topic: string, { toHighWatermark = true } = {}) {
      const { partitions = PARTITIONS } = plan[topic as keyof TopicPlan] ?? {};
      return readCommitted(kafka, `${prefix}.${topic}`, [...Array(partitions).keys()], { toHighWatermark });
    },
    /** A connector in this process, stopped when the test ends. */
    start: (own?: Partial<Parameters<typeof startConnector>[1]>) =>
      startConnector(t, {
        ...common,
        source,
        ...(options.kafka !== undefined && { kafka: options.kafka }),
        ...own,
        env: { ...ownEnv, ...own?.env },
      }),
    /** `spconnect run` as a process, killed when the test ends. */
    startCommand: (own?: Partial<ConnectorCommand>) =>
      startCommand(t, { ...common, source: [source].flat()[0] ?? {}, ...own, env: { ...ownEnv, ...own?.env } }),
    /** The connector as a process that kills itself at a moment, killed at the latest when the test ends. */
    startKillable(moment: Parameters<typeof startKillableConnector>[0], env: Readonly<Record<string, string>> = {}) {
      const connector = startKillableConnector(moment, environment({ SETTINGS: text, ...env }));
      t.after(() => connector.child.kill('SIGKILL'));
      return connector;
    },
    /** A command line as a process, killed when the test ends. */
    startProcess(...words: readonly string[]) {
      const started = startProcess(MAIN, [...words, '--config', file], environment({}));
      t.after(() => started.child.kill('SIGKILL'));
      return started;
    },
    /** A command line in this process. */
    spconnect: (line: string, env: Readonly<Record<string, string>> = {}, signal = t.signal) =>
      runWith([...line.split(' '), '--config', file], { env: environment(env), signal }),
  };
}
