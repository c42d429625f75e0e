import { startLocalStack } from '../../src/demo/local-stack.ts';
import type { LocalStack } from '../../src/demo/stack-context.ts';
import { systemClock } from '../../src/support/clock.ts';
import {
  type ConnectorProcess,
  settingsText,
  startKillableConnector,
  startSimulatorProcess,
} from '../support/connector-process.ts';

/** A simulated provider and a connector, each in a process of its own. */
export interface BenchProcesses {
  readonly prefix: string;
  readonly connector: ConnectorProcess;
  /** Where the simulated provider takes orders, with a slash at the end. */
  readonly controlUrl: string;
  /** Stops both in good order; throws when the connector did not end well. */
  stop(): Promise<void>;
}

export function startBenchStack(signal: AbortSignal): Promise<LocalStack> {
  const onProgress = (line: string) => process.stderr.write(`${line}\n`);
  return startLocalStack({ env: process.env, clock: systemClock, signal, onProgress });
}

/** Starts a fresh provider, and a fresh connector that has nothing on Kafka yet. */
export async function startBenchProcesses(
  { brokers, registryUrl }: LocalStack,
  instruments: number,
  source: Readonly<Record<string, string | number>> = {},
): Promise<BenchProcesses> {
  const common = { PATH: process.env.PATH ?? '', NODE_OPTIONS: process.env.NODE_OPTIONS ?? '' };
  const simulator = startSimulatorProcess(instruments, common);
  const addresses = JSON.parse(await simulator.line('referenceDataUrl')) as Record<string, string>;
  const prefix = `bench-${process.pid}-${Math.round(systemClock.wallMs())}`;
  const connector = startKillableConnector('stay', {
    ...common,
    SETTINGS: settingsText(source),
    TOPIC_PREFIX: prefix,
    KAFKA_BROKERS: brokers.join(','),
    SCHEMA_REGISTRY_URL: registryUrl,
    REFERENCE_DATA_URL: addresses.referenceDataUrl ?? '',
    AUTH_TOKEN_URL: addresses.tokenUrl ?? '',
    CLIENT_ID: addresses.clientId ?? '',
    CLIENT_SECRET: addresses.clientSecret ?? '',
  });
  return {
    prefix,
    connector,
    controlUrl: new URL('/_simulator/', addresses.referenceDataUrl).href,
    async stop() {
      connector.child.kill('SIGTERM');
      const { code } = await connector.ended;
      simulator.child.kill('SIGTERM');
      await simulator.ended;
      if (code !== 0) throw new Error(`The connector ended with ${code}:\n${connector.lines.slice(-20).join('\n')}`);
    },
  };
}
