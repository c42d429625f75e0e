import type { SchemaRegistrySettings } from '../config/settings.ts';
import { createAuthorization } from '../provider/http/authorization.ts';
import { createEndpointGates } from '../provider/http/endpoint-gates.ts';
import { createRequestTurns } from '../provider/http/request-turns.ts';
import {
  createRegistrySubjects,
  createSchemaRegistry,
  type RegistrySubjects,
  type SchemaRegistry,
} from '../records/avro/registry.ts';
import { createRegistryHttp, type RegistryHttpOptions } from '../records/avro/registry-http.ts';
import type { Random } from '../support/back-off.ts';
import { type Clock, systemRandom } from '../support/clock.ts';
import type { HttpObserver } from '../support/http-observer.ts';
import { type Log, silentLog } from '../support/log.ts';
import { networkFiles } from './network-files.ts';

const NAME = 'schemaRegistry';
const TIMEOUT_MS = 10_000;
const TOKEN_REQUESTS_PER_SECOND = 5;

interface Deps {
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: Random;
  readonly observer?: HttpObserver;
}

export async function createRegistry(settings: SchemaRegistrySettings, deps: Deps): Promise<SchemaRegistry> {
  return createSchemaRegistry({ ...(await access(settings, deps)), register: settings.register, log: deps.log });
}

export async function createSubjects(settings: SchemaRegistrySettings, clock: Clock): Promise<RegistrySubjects> {
  return createRegistrySubjects(createRegistryHttp(await access(settings, { clock, log: silentLog })));
}

async function access(
  { url, auth, noProxy, ...files }: SchemaRegistrySettings,
  deps: Deps,
): Promise<RegistryHttpOptions> {
  const { clock, log, random = systemRandom, observer } = deps;
  const gates = createEndpointGates({ clock, random });
  const network = {
    name: NAME,
    timeoutMs: TIMEOUT_MS,
    files: await networkFiles(NAME, files, { clock, log }),
    noProxy: noProxy ?? [],
    clock,
  };
  const authorization = createAuthorization(auth, {
    ...network,
    // A token request to another machine never uses plain HTTP.
    allowHttp: false,
    random,
    log,
    observer,
    turns: createRequestTurns({ name: NAME, requestsPerSecond: TOKEN_REQUESTS_PER_SECOND, gates, clock, log }),
  });
  return { ...network, url: url.replace(/\/$/, ''), authorization };
}
