import type { ReferenceDataSettings } from '../config/settings.ts';
import { createAuthorization } from '../provider/http/authorization.ts';
import { createHttpClient, type HttpClient } from '../provider/http/client.ts';
import { createEndpointGates, type EndpointGates } from '../provider/http/endpoint-gates.ts';
import { createRequestTurns } from '../provider/http/request-turns.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import type { HttpObserver } from '../support/http-observer.ts';
import type { Log } from '../support/log.ts';
import { networkFiles } from './network-files.ts';

interface Deps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly observer?: HttpObserver;
  /** Knows the endpoints that must not be called now. All clients of the process share this object. */
  readonly gates?: EndpointGates;
}

export async function createProviderHttp(
  name: 'referenceData' | 'marketData',
  settings: ReferenceDataSettings & { readonly login?: string },
  { clock, random, log, observer, gates = createEndpointGates({ clock, random }) }: Deps,
): Promise<HttpClient> {
  const { timeoutMs, allowHttp, requestsPerSecond } = settings;
  const network = {
    name,
    login: settings.login,
    timeoutMs,
    allowHttp,
    files: await networkFiles(name, settings, { clock, log }),
    noProxy: settings.noProxy ?? [],
    clock,
    random,
    log,
    observer,
    turns: createRequestTurns({ name, requestsPerSecond, gates, clock, log, observer }),
  };
  return createHttpClient({
    ...network,
    baseUrl: settings.url,
    maxBodyBytes: settings.maxBodyBytes,
    authorization: createAuthorization(settings.auth, network),
  });
}
