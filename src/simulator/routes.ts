import type { Endpoint } from './faults/fault.ts';
import { MARKET_BASE } from './market-data.ts';
import { REFERENCE_BASE } from './reference-data.ts';

/** The path of the token endpoint. */
export const TOKEN_PATH = '/oauth2/token';

interface Route {
  readonly endpoint: Endpoint;
  readonly method: 'GET' | 'POST';
  /** Its one group, where it has one, is the isin or id. */
  readonly path: RegExp;
}

const ROUTES: readonly Route[] = [
  { endpoint: 'token', method: 'POST', path: route(TOKEN_PATH) },
  { endpoint: 'instruments', method: 'GET', path: route(`${REFERENCE_BASE}/v1/instruments`) },
  { endpoint: 'instruments-my', method: 'GET', path: route(`${REFERENCE_BASE}/v1/instruments/my`) },
  { endpoint: 'events', method: 'GET', path: route(`${REFERENCE_BASE}/v1/instruments/events`) },
  { endpoint: 'events-my', method: 'GET', path: route(`${REFERENCE_BASE}/v1/instruments/events/my`) },
  { endpoint: 'pre-trade-checks', method: 'GET', path: route(`${REFERENCE_BASE}/v1/pretradechecks`) },
  { endpoint: 'pre-trade-check', method: 'GET', path: route(`${REFERENCE_BASE}/v1/pretradechecks/id/([^/]+)`) },
  { endpoint: 'bulk', method: 'POST', path: route(`${MARKET_BASE}/v1/products/bulk`) },
  { endpoint: 'intraday', method: 'GET', path: route(`${MARKET_BASE}/v1/products/([^/]+)/prices/intraday`) },
  { endpoint: 'daily', method: 'GET', path: route(`${MARKET_BASE}/v1/products/([^/]+)/prices/daily`) },
  { endpoint: 'overview', method: 'GET', path: route(`${MARKET_BASE}/v1/products/([^/]+)/prices/overview`) },
];

/** The endpoint of a request; `wrongMethod` when there is one, but not for this method; undefined when there is none. */
export function findRoute(
  method: string,
  path: string,
): { endpoint: Endpoint; argument: string } | 'wrongMethod' | undefined {
  const routes = ROUTES.filter((one) => one.path.test(path));
  const found = routes.find((one) => one.method === method);
  if (!found) return routes.length > 0 ? 'wrongMethod' : undefined;
  return { endpoint: found.endpoint, argument: decoded(found.path.exec(path)?.[1] ?? '') };
}

function route(path: string): RegExp {
  return new RegExp(`^${path}$`);
}

/** A path segment with broken percent-encoding is taken as it is: it names nothing that exists. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
