import { startLocalStack } from '../../src/dev/local-stack/local-stack.ts';
import type { LocalStack } from '../../src/dev/local-stack/stack-context.ts';
import { systemClock } from '../../src/support/clock.ts';
import {
  type ConnectorProcess,
  type OwnSettings,
  settingsText,
  startKillableConnector,
  startProcess,
} from '../support/connectors/connector-process.ts';

const PROVIDER = new URL('./ready-provider.ts', import.meta.url).pathname;
const LOOP_DELAY = new URL('./loop-delay.ts', import.meta.url).href;
const ENVIRONMENT = { PATH: process.env.PATH ?? '' };

/** A provider of ready bytes in a process of its own. */
export interface ReadyProvider {
  readonly url: string;
  readonly pid: number;
  /** Sets delay, backlog or rate of events (see ready-provider.ts). */
  order(order: Readonly<Record<string, number>>): Promise<Record<string, number>>;
  stop(): Promise<void>;
}

export interface BenchConnector {
  readonly pid: number;
  readonly process: ConnectorProcess;
  /** The event-loop delay since the last call, 99th percentile, in milliseconds. Measured from the first call on. */
  loopDelayP99Ms(): Promise<number>;
  /** Stops in good order; throws when it did not end well. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

export interface ConnectorOptions {
  readonly prefix: string;
  readonly roles?: string;
  readonly source?: OwnSettings;
  /** Further settings, as lines of the file. */
  readonly more?: string;
  /** Further settings of Kafka, beginning with a comma. */
  readonly kafka?: string;
  readonly logLevel?: string;
  /** Whether its event-loop delay is measured from the start, which costs some CPU. */
  readonly delayFromStart?: boolean;
}

export function startBenchStack(signal: AbortSignal): Promise<LocalStack> {
  const onProgress = (line: string) => process.stderr.write(`${line}\n`);
  return startLocalStack({ env: process.env, clock: systemClock, signal, onProgress });
}

export async function startProvider(instruments: number): Promise<ReadyProvider> {
  const { child, line, ended } = startProcess(PROVIDER, [String(instruments)], ENVIRONMENT);
  const { url } = JSON.parse(await line('"url"')) as { url: string };
  return {
    url,
    pid: child.pid ?? 0,
    async order(order) {
      const answer = await fetch(`${url}/control`, { method: 'POST', body: JSON.stringify(order) });
      return (await answer.json()) as Record<string, number>;
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** A prefix that no run had before. */
export function freshPrefix(): string {
  return `bench-${process.pid}-${Math.round(systemClock.wallMs())}`;
}

/** Starts a connector with the flags of `npm start`. */
export function startBenchConnector(
  stack: LocalStack,
  provider: ReadyProvider,
  options: ConnectorOptions,
): BenchConnector {
  const started = startKillableConnector('stay', {
    ...ENVIRONMENT,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${LOOP_DELAY}${options.delayFromStart ? '?now' : ''}`,
    // The default; the tests' connectors have a shorter one.
    SESSION_TIMEOUT: '6s',
    SETTINGS: settingsText(options.source, options.more, options.kafka),
    TOPIC_PREFIX: options.prefix,
    KAFKA_BROKERS: stack.brokers.join(','),
    SCHEMA_REGISTRY_URL: stack.registryUrl,
    REFERENCE_DATA_URL: provider.url,
    AUTH_TOKEN_URL: `${provider.url}/token`,
    CLIENT_ID: 'bench',
    CLIENT_SECRET: 'bench-secret',
    LOG_LEVEL: options.logLevel ?? 'info',
    ...(options.roles !== undefined && { ROLES: options.roles }),
  });
  let asked = 0;
  return {
    pid: started.child.pid ?? 0,
    process: started,
    async loopDelayP99Ms() {
      asked += 1;
      started.child.kill('SIGUSR2');
      const written = () => started.lines.filter((line) => line.includes('loopDelayP99Ms'));
      while (written().length < asked) await systemClock.sleep(5);
      return (JSON.parse(written()[asked - 1] ?? '{}') as { loopDelayP99Ms: number }).loopDelayP99Ms;
    },
    async stop() {
      started.child.kill('SIGTERM');
      const { code } = await started.ended;
      if (code !== 0) throw new Error(`The connector ended with ${code}:\n${started.lines.slice(-20).join('\n')}`);
    },
    async kill() {
      started.child.kill('SIGKILL');
      await started.ended;
    },
  };
}
