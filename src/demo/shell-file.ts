import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import type { LocalStack } from '../local-stack/stack-context.ts';
import type { Simulator } from '../simulator/simulator.ts';

export interface ShellSettings {
  readonly settings: Pick<Settings, 'prefix'>;
  readonly stack: Pick<LocalStack, 'brokers' | 'registryUrl'>;
  readonly simulator: Pick<Simulator, 'referenceDataUrl' | 'marketDataUrl' | 'tokenUrl' | 'clientId' | 'clientSecret'>;
  /** Null where there is no admin server. */
  readonly statusPage: string | null;
}

/** The environment for spconnect in another shell; the simulator's secret is not secret. */
export function exportLines({ settings, stack, simulator, statusPage }: ShellSettings): string[] {
  const { referenceDataUrl, marketDataUrl, tokenUrl, clientId, clientSecret } = simulator;
  const port = statusPage === null ? '' : ` ADMIN_PORT=${new URL(statusPage).port}`;
  return [
    `export TOPIC_PREFIX=${settings.prefix}${port}`,
    `export KAFKA_BROKERS=${stack.brokers.join(',')} SCHEMA_REGISTRY_URL=${stack.registryUrl}`,
    `export REFERENCE_DATA_URL=${referenceDataUrl}`,
    `export MARKET_DATA_URL=${marketDataUrl}`,
    `export AUTH_TOKEN_URL=${tokenUrl} CLIENT_ID=${clientId} CLIENT_SECRET=${clientSecret}`,
  ];
}

/**
 * The same as a file for the shell: on a terminal, what was printed at first is soon far above. It is removed with the
 * demo.
 *
 * @returns its path.
 */
export async function writeShellFile(shell: ShellSettings, cleanUp: AsyncDisposableStack): Promise<string> {
  const path = join(tmpdir(), `${shell.settings.prefix}.env`);
  cleanUp.defer(() => rm(path, { force: true }));
  await writeFile(path, `${exportLines(shell).join('\n')}\n`, { mode: 0o600 });
  return path;
}
