import type { TestContext } from 'node:test';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { type Ran, runWith } from '../../unit/commands/shell/terminal.ts';
import { kafkaOrSkip } from '../kafka/kafka-real.ts';
import { stackOrSkip, type TestStack, uniquePrefix } from '../kafka/stack.ts';
import { eventually } from '../runner/eventually.ts';
import { connectorEnvironment, type OwnSettings, settingsText } from './connector-process.ts';
import { type RunningConnector, startConnector } from './running-connector.ts';
import { settingsFile } from './settings-file.ts';

const TOKEN = 'the-token-of-this-test';

export interface AdministeredConnector extends RunningConnector {
  /** The base of the admin server's addresses; with the token as a login for tools that take it from there. */
  readonly url: string;
  readonly urlWithLogin: string;
  get(path: string): Promise<{ readonly status: number; readonly body: unknown }>;
  change(method: string, path: string, body?: unknown): Promise<{ readonly status: number; readonly body: unknown }>;
  /** Waits until the connector's and its tasks' states are these: `PAUSED PAUSED`. */
  states(source: string, wanted: string): Promise<void>;
}

export interface AdminWorld {
  readonly stack: TestStack;
  readonly kafka: KafkaCluster;
  readonly simulator: Simulator;
  readonly prefix: string;
  /** A connector of this installation; the one before must have stopped. */
  start(source?: OwnSettings, others?: readonly OwnSettings[]): Promise<AdministeredConnector>;
  /** The command line as an operator uses it. */
  spconnect(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran>;
}

/** A provider, a place on the real broker, and connectors with an admin server on a free port; null when skipped. */
export async function adminWorld(
  t: TestContext,
  instruments: number,
  more: (simulator: Simulator) => string = () => '',
): Promise<AdminWorld | null> {
  const stack = await stackOrSkip(t);
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!stack || !kafka) return null;
  const prefix = uniquePrefix('admin');
  const simulator = await createSimulator({ instruments, seed: 8, port: 0 });
  t.after(() => simulator.close());
  const world = { ADMIN_ENABLED: 'true', ADMIN_TOKEN: TOKEN };
  return {
    stack,
    kafka,
    simulator,
    prefix,
    async start(source = {}, others = []) {
      const connector = await startConnector(t, {
        stack,
        simulator,
        prefix,
        source: [{ limit: 20, ...source }, ...others],
        more: more(simulator),
        env: world,
      });
      const { url } = (await connector.event('adminListening')).fields;
      return administered(connector, url);
    },
    async spconnect(args, env = {}) {
      const file = await settingsFile(t, settingsText({}, more(simulator)));
      const all = connectorEnvironment(stack, simulator, { TOPIC_PREFIX: prefix, ...world, ...env });
      return runWith([...args, '--config', file], { env: all });
    },
  };
}

function administered(connector: RunningConnector, url: string): AdministeredConnector {
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${url}${path}`, init);
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.includes('json') === true && text !== '';
    return { status: answer.status, body: isJson ? (JSON.parse(text) as unknown) : text };
  };
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
  return {
    ...connector,
    url,
    urlWithLogin: url.replace('//', `//operator:${TOKEN}@`),
    get: (path) => ask(path),
    change: (method, path, body) =>
      ask(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }),
    async states(source, wanted) {
      const shown = async () => {
        const { connector: own, tasks } = (await ask(`/connectors/${source}/status`)).body as {
          readonly connector: { readonly state: string };
          readonly tasks: readonly { readonly state: string }[];
        };
        return [own, ...tasks].map(({ state }) => state).join(' ');
      };
      await eventually(`${source} is ${wanted}`, shown, (found) => found === wanted);
    },
  };
}
