import type { ReferenceDataSettings } from '../config/settings.ts';
import { createAuthorization } from '../http/authorization.ts';
import { createHttpClient, type HttpClient } from '../http/client.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';

/** The HTTP client of the reference data interface, as the settings want it. */
export async function createReferenceDataHttp(
  settings: ReferenceDataSettings,
  { clock, random, log }: { readonly clock: Clock; readonly random: Random; readonly log: Log },
): Promise<HttpClient> {
  const { timeoutMs, allowHttp } = settings;
  const network = {
    name: 'referenceData' as const,
    timeoutMs,
    allowHttp,
    ca: await settings.ca?.(),
    cert: await settings.cert?.(),
    key: await settings.key?.(),
    proxy: await settings.proxy?.(),
    clock,
    random,
    log,
  };
  return createHttpClient({
    ...network,
    baseUrl: settings.url,
    maxBodyBytes: settings.maxBodyBytes,
    requestsPerSecond: settings.requestsPerSecond,
    authorization: createAuthorization(settings.auth, network),
  });
}
