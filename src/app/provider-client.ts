import type { MarketDataSettings, ReferenceDataSettings } from '../config/settings.ts';
import { createAuthorization } from '../http/authorization.ts';
import { createHttpClient, type HttpClient } from '../http/client.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import type { HttpObserver } from '../support/http-observer.ts';
import type { Log } from '../support/log.ts';

interface Deps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly observer?: HttpObserver;
}

/** The HTTP client of the reference data interface, as the settings want it. */
export function createReferenceDataHttp(settings: ReferenceDataSettings, deps: Deps): Promise<HttpClient> {
  return createInterfaceHttp('referenceData', settings, deps);
}

/** The HTTP client of the market data interface. */
export function createMarketDataHttp(settings: NonNullable<MarketDataSettings>, deps: Deps): Promise<HttpClient> {
  return createInterfaceHttp('marketData', settings, deps);
}

async function createInterfaceHttp(
  name: 'referenceData' | 'marketData',
  settings: ReferenceDataSettings,
  { clock, random, log, observer }: Deps,
): Promise<HttpClient> {
  const { timeoutMs, allowHttp } = settings;
  const network = {
    name,
    timeoutMs,
    allowHttp,
    ca: await settings.ca?.(),
    cert: await settings.cert?.(),
    key: await settings.key?.(),
    proxy: await settings.proxy?.(),
    noProxy: settings.noProxy ?? [],
    clock,
    random,
    log,
    observer,
  };
  return createHttpClient({
    ...network,
    baseUrl: settings.url,
    maxBodyBytes: settings.maxBodyBytes,
    requestsPerSecond: settings.requestsPerSecond,
    authorization: createAuthorization(settings.auth, network),
  });
}
