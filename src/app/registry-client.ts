import { createSchemaRegistry, type SchemaRegistry } from '../avro/registry.ts';
import type { SchemaRegistrySettings } from '../config/settings.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';

const TIMEOUT_MS = 10_000;

/** The schema registry as the settings want it. */
export function createRegistry(
  settings: SchemaRegistrySettings,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): SchemaRegistry {
  const { url, register, auth } = settings;
  return createSchemaRegistry({
    url,
    register,
    timeoutMs: TIMEOUT_MS,
    clock,
    log,
    ...(auth.type === 'basic' && {
      authorization: async () => {
        const pair = `${auth.user}:${await auth.password()}`;
        return `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`;
      },
    }),
  });
}
