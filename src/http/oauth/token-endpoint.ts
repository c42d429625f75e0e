import { ConnectorError } from '../../errors.ts';
import type { RequestEndpoint } from '../request-turns.ts';

/** Where tokens are requested, as the gates and the messages name it. */
export interface TokenEndpoint {
  readonly address: URL;
  /** The settings around the login: `referenceData`, `kafka.sasl`. */
  readonly name: string;
  /** The settings of the login itself: `referenceData.auth`, `kafka.sasl`. */
  readonly login: string;
  /** As the gates of endpoints know it; `from` begins a message. */
  readonly turn: RequestEndpoint;
  /** A TOKEN_FAILED that says what the endpoint did. */
  failed(what: string, fields?: Readonly<Record<string, unknown>>, retryAfterMs?: number): ConnectorError;
}

export function tokenEndpoint(address: URL, name: string, login: string): TokenEndpoint {
  const setting = `${login}.tokenUrl`.slice(name.length + 1);
  // Without a query, which may hold anything.
  const from = `The token endpoint of ${name} (${setting} ${address.origin}${address.pathname})`;
  return {
    address,
    name,
    login,
    turn: { key: `${address.origin} ${address.pathname}`, path: address.pathname, from },
    failed: (what, fields = {}, retryAfterMs) =>
      new ConnectorError('TOKEN_FAILED', `${from} ${what}.`, { fields, retryAfterMs }),
  };
}
