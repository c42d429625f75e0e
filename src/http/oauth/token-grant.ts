import * as oauth from 'oauth4webapi';
import { ConnectorError } from '../../errors.ts';
import { quotedText } from '../quoted-text.ts';
import { isSendable } from '../secret.ts';
import type { OAuth2Settings } from './oauth2-settings.ts';
import type { TokenEndpoint } from './token-endpoint.ts';
import type { TokenResponse } from './token-exchange.ts';

const LONGEST_QUOTE = 200;
const LONGEST_LIFETIME_MS = 24 * 3_600_000;
/**
 * The life of a token that does not state it: `expires_in` absent, null, 0, negative or no number. Short enough to notice
 * a withdrawn account, long enough not to ask for a token with every request; a 401 renews it earlier.
 */
const DEFAULT_LIFETIME_MS = 5 * 60_000;

// Only these members of a response reach the library. Above all no id_token: with scope openid a server may send one,
// which was not requested and whose issuer cannot be checked, since only the token address is known.
const FIELDS = ['access_token', 'token_type', 'scope', 'error', 'error_description'];

export interface FetchedToken {
  readonly value: string;
  readonly lifetimeMs: number;
}

interface GrantRequest {
  readonly settings: OAuth2Settings;
  readonly endpoint: TokenEndpoint;
  readonly authentication: oauth.ClientAuth;
  /** The client's secret, which no message may hold. */
  readonly secret: string;
  readonly send: (body: string, headers: Readonly<Record<string, string>>) => Promise<TokenResponse>;
}

/**
 * One client credentials grant by the library. Rejects with TOKEN_FAILED, whose message and fields name the OAuth
 * error, and never with an error of the library, since those hold the whole response.
 */
export async function requestGrant(request: GrantRequest, signal: AbortSignal): Promise<FetchedToken> {
  const { settings, endpoint, authentication, secret } = request;
  const server: oauth.AuthorizationServer = {
    issuer: endpoint.address.origin,
    token_endpoint: endpoint.address.href,
  };
  const client: oauth.Client = { client_id: settings.clientId };
  let lifetimeMs = DEFAULT_LIFETIME_MS;
  let status = 0;
  const secrets = [secret];
  const send = async (_url: string, init: { body?: unknown; headers: Record<string, string> }) => {
    secrets.push((init.headers.authorization ?? '').replace(/^Basic /, ''));
    const response = await request.send(String(init.body), init.headers);
    lifetimeMs = lifetimeOf(response.fields.expires_in);
    status = response.status;
    const known = Object.fromEntries(FIELDS.map((field) => [field, response.fields[field]]));
    return new Response(JSON.stringify(known), { status, headers: { 'content-type': 'application/json' } });
  };
  try {
    const response = await oauth.clientCredentialsGrantRequest(server, client, authentication, parameters(settings), {
      [oauth.customFetch]: send,
      // parseAddress has already decided where plain http may be spoken.
      [oauth.allowInsecureRequests]: endpoint.address.protocol === 'http:',
    });
    const { access_token: value, token_type: type } = await oauth.processClientCredentialsResponse(
      server,
      client,
      response,
    );
    if (type !== 'bearer') throw endpoint.failed('issued a token that is not a bearer token');
    if (!isSendable(value)) throw endpoint.failed('issued a token that no header can carry');
    return { value, lifetimeMs };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof ConnectorError) throw error;
    if (error instanceof oauth.ResponseBodyError) throw refused(error, status, secrets, endpoint);
    throw endpoint.failed(`answered ${status} with something other than a token`, { status });
  }
}

/** Whether the endpoint refused the client itself, and not what it asks for. */
export function isInvalidClient(error: unknown): boolean {
  return (
    error instanceof ConnectorError && (error.fields.oauthError === 'invalid_client' || error.fields.status === 401)
  );
}

function parameters({ scope, audience, resource }: OAuth2Settings): Record<string, string> {
  const given = Object.entries({ scope, audience, resource });
  return Object.fromEntries(given.filter((entry): entry is [string, string] => Boolean(entry[1])));
}

function refused(
  error: oauth.ResponseBodyError,
  status: number,
  secrets: readonly string[],
  endpoint: TokenEndpoint,
): ConnectorError {
  const oauthError = quotedText(error.error, 80, secrets);
  const description = quotedText(error.error_description ?? '', LONGEST_QUOTE, secrets);
  const said = description === '' ? oauthError : `${oauthError}: ${description}`;
  return endpoint.failed(`answered ${status} (${said})`, { status, oauthError });
}

/** The life of a token in milliseconds, from the seconds that `expires_in` names, as a number or as text. */
function lifetimeOf(expiresIn: unknown): number {
  const seconds =
    typeof expiresIn === 'string' && /^\s*\d{1,15}(\.\d{0,9})?\s*$/.test(expiresIn) ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds <= 0) return DEFAULT_LIFETIME_MS;
  return Math.min(seconds * 1_000, LONGEST_LIFETIME_MS);
}
