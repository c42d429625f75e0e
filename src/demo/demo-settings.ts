import { loadSettings } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import type { LocalStack } from '../local-stack/stack-context.ts';
import type { Simulator } from '../simulator/simulator.ts';

/** Products that the provider drops without an event leave the topic at the next walk; a day is too long to watch. */
const WALK_INTERVAL_MS = 120_000;

/**
 * A walk deletes nothing that an event named within the last 90 minutes (src/connector/walk/census.ts): a list without
 * it may be an old one. So repaid products stay on the simulated list for longer than that, as they do at a provider,
 * and some were repaid before the demo began.
 */
export const DEMO_PROVIDER = { seed: 1, port: 0, delistAfterMs: 2 * 3_600_000, repaidAtFirst: 0.1 } as const;

export interface DemoInstallation {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stack: Pick<LocalStack, 'brokers' | 'registryUrl'>;
  readonly simulator: Pick<Simulator, 'referenceDataUrl' | 'marketDataUrl' | 'tokenUrl' | 'clientId' | 'clientSecret'>;
  /** Always one of its own: what is simulated must not reach the topics of a real provider. */
  readonly prefix: string;
  /** Printed by the demo, so never that of the environment. */
  readonly adminToken: string;
  readonly onSecret: (value: string) => void;
}

/** The settings of the demo: the usual ones, but at what was started here, and with a walk every two minutes. */
export async function demoSettings(installation: DemoInstallation): Promise<Settings> {
  const { env, stack, simulator, prefix, adminToken, onSecret } = installation;
  const settings = await loadSettings({
    env: {
      POLL_INTERVAL: '2s',
      PRICE_REFRESH_INTERVAL: '10s',
      // A free one: a connector may run beside the demo.
      ADMIN_PORT: '0',
      ...env,
      TOPIC_PREFIX: prefix,
      KAFKA_BROKERS: stack.brokers.join(','),
      SCHEMA_REGISTRY_URL: stack.registryUrl,
      REFERENCE_DATA_URL: simulator.referenceDataUrl,
      MARKET_DATA_URL: simulator.marketDataUrl,
      AUTH_TOKEN_URL: simulator.tokenUrl,
      CLIENT_ID: simulator.clientId,
      CLIENT_SECRET: simulator.clientSecret,
      ADMIN_TOKEN: adminToken,
      // Those of a real provider are not needed and must not be sent.
      CLIENT_SECRET_FILE: undefined,
      ADMIN_TOKEN_FILE: undefined,
    },
    onSecret,
  });
  const sources = settings.sources.map((source) =>
    source.type === 'instruments' ? { ...source, walkIntervalMs: WALK_INTERVAL_MS } : source,
  );
  return { ...settings, sources };
}
