import { startLocalStack } from '../../src/dev/local-stack/local-stack.ts';
import type { LocalStack } from '../../src/dev/local-stack/stack-context.ts';
import { systemClock } from '../../src/support/clock.ts';
import {
  connectorEnvironment,
  type OwnSettings,
  settingsText,
  startKillableConnector,
  startProcess,
} from '../support/connectors/connector-process.ts';

const PROVIDER = new URL('./ready-provider.ts', import.meta.url).pathname;
const LOOP_DELAY = new URL('./loop-delay.ts', import.meta.url).href;
const ENVIRONMENT = { PATH: process.env.PATH ?? '' };

export type ReadyProvider = Awaited<ReturnType<typeof startProvider>>;
export type BenchConnector = ReturnType<typeof startBenchConnector>;

export function startBenchStack(signal: AbortSignal): Promise<LocalStack> {
  const onProgress = (line: string) => process.stderr.write(`${line}\n`);
  return startLocalStack({ env: process.env, clock: systemClock, signal, onProgress });
}

/** A provider of ready bytes in a process of its own. */
export async function startProvider(instruments: number) {
  const { child, line, ended } = startProcess(PROVIDER, [String(instruments)], ENVIRONMENT);
  const { url } = JSON.parse(await line('"url"')) as { url: string };
  return {
    url,
    /** Sets delay, backlog or rate of events (see ready-provider.ts). */
    async order(order: Readonly<Record<string, number>>) {
      const answer = await fetch(`${url}/control`, { method: 'POST', body: JSON.stringify(order) });
      return (await answer.json()) as Record<string, number>;
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Where a connector finds Kafka, registry and the provider of ready bytes. */
export function benchEnvironment(
  stack: LocalStack,
  { url }: { readonly url: string },
  more: Readonly<Record<string, string>>,
): Record<string, string> {
  const login = { tokenUrl: `${url}/token`, clientId: 'bench', clientSecret: 'bench-secret' };
  return connectorEnvironment(stack, { referenceDataUrl: url, ...login }, more);
}

export function freshPrefix(): string {
  return `bench-${process.pid}-${Math.round(systemClock.wallMs())}`;
}

/** Starts a connector with the flags of `npm start`. */
export function startBenchConnector(
  stack: LocalStack,
  provider: ReadyProvider,
  options: {
    readonly prefix: string;
    readonly roles?: string;
    readonly source?: OwnSettings;
    /** Further settings, as lines of the file. */
    readonly more?: string;
  },
) {
  const started = startKillableConnector(
    'stay',
    benchEnvironment(stack, provider, {
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${LOOP_DELAY}`,
      // The default; the tests' connectors have a shorter one.
      SESSION_TIMEOUT: '6s',
      SETTINGS: settingsText(options.source, options.more),
      TOPIC_PREFIX: options.prefix,
      LOG_LEVEL: 'info',
      ...(options.roles !== undefined && { ROLES: options.roles }),
    }),
  );
  let asked = 0;
  return {
    pid: started.child.pid ?? 0,
    process: started,
    /** The event-loop delay since the last call, 99th percentile, in milliseconds. Measured from the first call on. */
    async loopDelayP99Ms() {
      asked += 1;
      started.child.kill('SIGUSR2');
      const written = () => started.lines.filter((line) => line.includes('loopDelayP99Ms'));
      while (written().length < asked) await systemClock.sleep(5);
      return (JSON.parse(written()[asked - 1] ?? '{}') as { loopDelayP99Ms: number }).loopDelayP99Ms;
    },
    /** Stops in good order; throws when it did not end well. */
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
