import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings } from '../../config/load.ts';
import type { Settings } from '../../config/settings.ts';
import type { LocalStack } from '../local-stack/stack-context.ts';
import type { Simulator } from '../simulator/simulator.ts';

/**
 * The interval between walks. Only a walk removes products that the provider drops without an event. The usual
 * interval, a day, is too long for a demo.
 */
const WALK_INTERVAL_MS = 120_000;

const CHECKS_INTERVAL_MS = 2_000;

/**
 * A walk deletes no product that an event named within the last 90 minutes (src/sources/walk/census.ts), because the
 * list may be older than the event. So the simulated list keeps repaid products for two hours. Some products were
 * repaid before the demo began, so that the first walks already delete products.
 */
export const DEMO_PROVIDER = { seed: 1, port: 0, delistAfterMs: 2 * 3_600_000, repaidAtFirst: 0.1 } as const;

type Environment = Readonly<Record<string, string | undefined>>;

interface DemoInstallation {
  readonly env: Environment;
  readonly stack: Pick<LocalStack, 'brokers' | 'registryUrl'>;
  readonly simulator: Pick<Simulator, 'referenceDataUrl' | 'marketDataUrl' | 'tokenUrl' | 'clientId' | 'clientSecret'>;
  /** Always a separate prefix: simulated records must not reach the topics of a real provider. */
  readonly prefix: string;
  /** The demo prints this token, so it never comes from the environment. */
  readonly adminToken: string;
}

const NOWHERE = 'http://127.0.0.1:1';
/** In place of the parts, before they are started. */
export const NOT_STARTED: Pick<DemoInstallation, 'stack' | 'simulator'> = {
  stack: { brokers: ['127.0.0.1:1'], registryUrl: NOWHERE },
  simulator: {
    referenceDataUrl: NOWHERE,
    marketDataUrl: NOWHERE,
    tokenUrl: NOWHERE,
    clientId: 'not-started',
    clientSecret: 'not-started',
  },
};

/** Default values. A value in the demo's environment replaces the default value of the same variable. */
const USUAL = {
  POLL_INTERVAL: '2s',
  PRICE_REFRESH_INTERVAL: '10s',
  PRE_TRADE_CHECKS: 'true',
  DAILY_PRICES: 'false',
  INTRADAY_PRICES: 'false',
  // 0 means any free port, because a connector may run at the same time.
  ADMIN_PORT: '0',
} as const;

/** The variables of the connector and of each command. Undefined means that the variable must not be set. */
export function demoEnvironment({ env, stack, simulator, prefix, adminToken }: DemoInstallation): Environment {
  return {
    ...Object.fromEntries(Object.entries(USUAL).map(([name, usual]) => [name, env[name] || usual])),
    TOPIC_PREFIX: prefix,
    KAFKA_BROKERS: stack.brokers.join(','),
    SCHEMA_REGISTRY_URL: stack.registryUrl,
    REFERENCE_DATA_URL: simulator.referenceDataUrl,
    MARKET_DATA_URL: simulator.marketDataUrl,
    AUTH_TOKEN_URL: simulator.tokenUrl,
    CLIENT_ID: simulator.clientId,
    CLIENT_SECRET: simulator.clientSecret,
    ADMIN_TOKEN: adminToken,
    // The credentials of a real provider are not needed and must not be sent.
    CLIENT_SECRET_FILE: undefined,
    SPCONNECT_CONFIG: undefined,
    ADMIN_TOKEN_FILE: undefined,
  };
}

/** The demo's settings: the usual settings, the parts that the demo started, and a walk every two minutes. */
export async function demoSettings(
  env: Environment,
  onSecret: (value: string, file?: string) => void,
): Promise<Settings> {
  const settings = await loadSettings({ env, onSecret });
  const sources = settings.sources.map((source) => {
    if (source.type === 'instruments') return { ...source, walkIntervalMs: WALK_INTERVAL_MS };
    return { ...source, pollIntervalMs: CHECKS_INTERVAL_MS };
  });
  return { ...settings, sources };
}

export interface ShellSettings {
  readonly environment: Environment;
  readonly statusPage: string | null;
}

/** The environment for spconnect in another shell. The simulator's client secret may be printed. */
export function exportLines({ environment, statusPage }: ShellSettings): string[] {
  const port = statusPage === null ? {} : { ADMIN_PORT: new URL(statusPage).port };
  return Object.entries({ ...environment, ...port }).map(([name, value]) =>
    value === undefined ? `unset ${name}` : `export ${name}=${value}`,
  );
}

/**
 * Writes the lines of `exportLines` to a file for the shell, because printed lines soon scroll away. The file is
 * removed at the end of the demo.
 * @returns its path.
 */
export async function writeShellFile(shell: ShellSettings, cleanUp: AsyncDisposableStack): Promise<string> {
  const path = join(tmpdir(), `${shell.environment.TOPIC_PREFIX}.env`);
  cleanUp.defer(() => rm(path, { force: true }));
  await writeFile(path, `${exportLines(shell).join('\n')}\n`, { mode: 0o600 });
  return path;
}
