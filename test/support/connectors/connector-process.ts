import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { TestStack } from '../kafka/stack.ts';

const KILLABLE = new URL('./killable-connector.ts', import.meta.url).pathname;
/**
 * Those of `npm start`. A small young generation collects a page's objects early: less memory for a little more work. It
 * has one size: V8 would let it shrink to 1 MiB where little happens, and collect four times as often. The heap is collected
 * when it has doubled: with it go the buffers that its dead objects hold, which are larger than it.
 */
export const NODE_FLAGS = ['--min-semi-space-size=6', '--max-semi-space-size=6', '--heap-growing-percent=100'];
/**
 * That of `npm start`. glibc gives the memory of buffers back when they are freed; otherwise it keeps most of it. The pad
 * is not larger than the threshold: buffers would fit into it, and lie among what stays for long.
 */
export const ALLOCATOR = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '36864', MALLOC_TOP_PAD_: '32768' };
const MAXIMUM_LINES = 10_000;

/** Settings of one source, as they stand in the file. */
export type OwnSettings = Readonly<Record<string, string | number>>;

/**
 * The settings of a test's connector: what the environment names, and one source with these settings of its own.
 *
 * @param more further lines
 * @param kafka further settings of Kafka, beginning with a comma
 */
export function settingsText(source: OwnSettings | readonly OwnSettings[] = {}, more = '', kafka = ''): string {
  const sources = [source].flat().map((own) => {
    const entries = Object.entries({ name: 'instruments', type: 'instruments', ...own });
    return `{ ${entries.map(([key, value]) => `${key}: ${value}`).join(', ')} }`;
  });
  return `
prefix: \${TOPIC_PREFIX}
referenceData:
  url: \${REFERENCE_DATA_URL}
  requestsPerSecond: 1000
  auth: { type: oauth2, tokenUrl: "\${AUTH_TOKEN_URL}", clientId: "\${CLIENT_ID}", clientSecret: "\${CLIENT_SECRET}" }
kafka: { brokers: "\${KAFKA_BROKERS}", sessionTimeout: "\${SESSION_TIMEOUT:-6s}"${kafka} }
schemaRegistry: { url: "\${SCHEMA_REGISTRY_URL}", register: "\${REGISTER:-true}" }
admin: { enabled: "\${ADMIN_ENABLED:-false}", port: "\${ADMIN_PORT:-0}", token: "\${ADMIN_TOKEN:-}" }
log: { level: "\${LOG_LEVEL:-info}" }
sources: [${sources.join(', ')}]
${more}`;
}

/** What makes a source of this type quick enough for a test. */
export function quickSettings(type: unknown = 'instruments'): Record<string, string> {
  return { pollInterval: '100ms', ...(type === 'instruments' && { handoffMargin: '50ms' }) };
}

/** The environment in which a connector finds the test's Kafka, registry and simulated provider. */
export function connectorEnvironment(
  stack: TestStack,
  simulator: Pick<Simulator, 'referenceDataUrl' | 'tokenUrl' | 'clientId' | 'clientSecret'>,
  more: Readonly<Record<string, string>>,
): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    KAFKA_BROKERS: stack.brokers.join(','),
    SCHEMA_REGISTRY_URL: stack.registryUrl,
    REFERENCE_DATA_URL: simulator.referenceDataUrl,
    AUTH_TOKEN_URL: simulator.tokenUrl,
    CLIENT_ID: simulator.clientId,
    CLIENT_SECRET: simulator.clientSecret,
    SETTINGS: settingsText(),
    ...more,
  };
}

export interface ConnectorProcess {
  readonly child: ChildProcess;
  /** Everything that it wrote, a line each, as it comes. */
  readonly lines: readonly string[];
  /** Resolves with the first line that holds this text; rejects when the process ends first. */
  line(containing: string): Promise<string>;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
}

/** Starts a script of the project as a process of its own, as the connector is started. */
export function startProcess(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): ConnectorProcess {
  const { NODE_COMPILE_CACHE } = process.env;
  const all = { ...ALLOCATOR, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }), ...env };
  return watchProcess(
    spawn(process.execPath, [...NODE_FLAGS, script, ...args], { env: all, stdio: ['ignore', 'pipe', 'pipe'] }),
  );
}

/** Collects what a process writes, which was started with pipes for its outputs. */
export function watchProcess(child: ChildProcess): ConnectorProcess {
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (line) => {
      if (lines.length < MAXIMUM_LINES) lines.push(line);
      for (const look of waiting) look();
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal }));
  return {
    child,
    lines,
    ended,
    line(containing) {
      const found = Promise.withResolvers<string>();
      const look = () => {
        const line = lines.find((text) => text.includes(containing));
        if (line !== undefined) found.resolve(line);
      };
      waiting.add(look);
      look();
      ended.then(({ code, signal }) =>
        found.reject(new Error(`ended (${code ?? signal}) before "${containing}":\n${lines.slice(-20).join('\n')}`)),
      );
      return found.promise.finally(() => waiting.delete(look));
    },
  };
}

/** Starts a connector that kills itself at a moment; null for one that ends with its walk, "stay" for one that does not. */
export function startKillableConnector(
  moment: object | 'stay' | null,
  env: Readonly<Record<string, string>>,
): ConnectorProcess {
  // Its heir waits for the group to miss it.
  return startProcess(KILLABLE, [JSON.stringify(moment)], { SESSION_TIMEOUT: '2s', ...env });
}
