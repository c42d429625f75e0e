import { createSchemaRegistry, type SchemaRegistry } from '../avro/registry.ts';
import { createRegistryHttp, type RegistryHttpOptions } from '../avro/registry-http.ts';
import { createRegistrySubjects, type RegistrySubjects } from '../avro/registry-subjects.ts';
import type { SchemaRegistrySettings } from '../config/settings.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';

const TIMEOUT_MS = 10_000;

/** The schema registry as the settings want it. */
export async function createRegistry(
  settings: SchemaRegistrySettings,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<SchemaRegistry> {
  return createSchemaRegistry({ ...(await access(settings, clock)), register: settings.register, log });
}

/** What the same registry says about subjects. */
export async function createSubjects(settings: SchemaRegistrySettings, clock: Clock): Promise<RegistrySubjects> {
  return createRegistrySubjects(createRegistryHttp(await access(settings, clock)));
}

async function access(settings: SchemaRegistrySettings, clock: Clock): Promise<RegistryHttpOptions> {
  const { url, auth, ca, cert, key } = settings;
  return {
    url: url.replace(/\/$/, ''),
    timeoutMs: TIMEOUT_MS,
    clock,
    ca: await ca?.(),
    cert: await cert?.(),
    key: await key?.(),
    ...(auth.type !== 'none' && { authorization: () => authorizationHeader(auth) }),
  };
}

/** Asked for before each request, so that a rotated secret is used. */
async function authorizationHeader(auth: Exclude<SchemaRegistrySettings['auth'], { type: 'none' }>): Promise<string> {
  if (auth.type === 'bearer') return `Bearer ${await auth.token()}`;
  const pair = `${auth.user}:${await auth.password()}`;
  return `Basic ${Buffer.from(pair, 'utf8').toString('base64')}`;
}
