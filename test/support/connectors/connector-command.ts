import type { TestContext } from 'node:test';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { TestStack } from '../kafka/stack.ts';
import {
  type ConnectorProcess,
  connectorEnvironment,
  quickSettings,
  settingsText,
  startProcess,
} from './connector-process.ts';
import { MAIN, settingsFile } from './settings-file.ts';

export interface ConnectorCommand {
  readonly stack: TestStack;
  readonly simulator: Simulator;
  readonly prefix: string;
  readonly source?: Readonly<Record<string, string | number>>;
  /** Further lines of the settings file. */
  readonly more?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** `run` as an operator starts it: a process with a settings file and an environment; killed when the test ends. */
export async function startCommand(t: TestContext, options: ConnectorCommand): Promise<ConnectorProcess> {
  const { stack, simulator, prefix, source, more, env } = options;
  const quick = quickSettings(source?.type);
  const file = await settingsFile(t, settingsText({ ...quick, ...source }, more));
  const environment = connectorEnvironment(stack, simulator, { TOPIC_PREFIX: prefix, ...env });
  const connector = startProcess(MAIN, ['run', '--config', file], environment);
  t.after(() => connector.child.kill('SIGKILL'));
  return connector;
}

export interface LogLine {
  readonly level: string;
  readonly msg: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at the fields of whichever line they wait for.
  readonly [field: string]: any;
}

/** What it logged: the lines that are JSON. */
export function logLines(connector: ConnectorProcess): LogLine[] {
  return connector.lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine);
}

/** What it wrote for people. */
export function plainText(connector: ConnectorProcess): string {
  return connector.lines.filter((line) => !line.startsWith('{')).join('\n');
}
