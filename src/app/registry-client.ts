import { createSchemaRegistry, type SchemaRegistry } from '../avro/registry.ts';
import { createRegistryHttp, type RegistryHttpOptions } from '../avro/registry-http.ts';
import { createRegistrySubjects, type RegistrySubjects } from '../avro/registry-subjects.ts';
import type { SchemaRegistrySettings } from '../config/settings.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';

const TIMEOUT_MS = 10_000;

/** The schema registry as the settings want it. */
export function createRegistry(
  settings: SchemaRegistrySettings,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): SchemaRegistry {
  return createSchemaRegistry({ ...access(settings, clock), register: settings.register, log });
}

/** What the same registry says about subjects. */
export function createSubjects(settings: SchemaRegistrySettings, clock: Clock): RegistrySubjects {
  return createRegistrySubjects(createRegistryHttp(access(settings, clock)));
}

function access({ url, auth }: SchemaRegistrySettings, clock: Clock): RegistryHttpOptions {
  return {
    url: url.replace(/\/$/, ''),
    timeoutMs: TIMEOUT_MS,
    clock,
    ...(auth.type === 'basic' && {
      authorization: async () => {
        const pair = `${auth.user}:${await auth.password()}`;
        return `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`;
      },
    }),
  };
}
