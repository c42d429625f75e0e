import * as oauth from 'oauth4webapi';
import type { Dispatcher } from 'undici';
import { ConnectorError } from '../errors.ts';
import { systemClock } from '../support/clock.ts';
import { openDeadline } from '../support/deadline.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { collectBytes } from './body-chunks.ts';
import type { AuthorizationOptions } from './credentials.ts';
import { openDispatcher } from './dispatcher.ts';
import { headerField, retryAfterMs } from './header-fields.ts';
import { quotedText } from './quoted-text.ts';
import { openResponseBody } from './response-body.ts';
import { unansweredText } from './response-error.ts';
import type { SecretSource } from './secret.ts';
import { isSendable, readSecret } from './secret.ts';
import { actionOf } from './status-action.ts';

const LARGEST_RESPONSE_BYTES = 65_536;
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

type ClientAuthentication = 'client_secret_basic' | 'client_secret_post';

/**
 * Makes the function that asks for one token (client credentials grant). The client authenticates with basic; where
 * that is refused as invalid_client, with the secret in the form, from then on. Rejects with TOKEN_FAILED, whose
 * message and fields name the OAuth error, and never with an error of the library, since those hold the whole response.
 */
export function createTokenRequest(
  settings: OAuth2Settings,
  address: URL,
  options: AuthorizationOptions,
): (signal: AbortSignal) => Promise<FetchedToken> {
  const { name, timeoutMs, turns, clock } = options;
  // Without a query, which may hold anything.
  const from = `The token endpoint of ${name} (auth.tokenUrl ${address.origin}${address.pathname})`;
  const endpoint = { key: `${address.origin} ${address.pathname}`, path: address.pathname, from };
  let authentication: ClientAuthentication = 'client_secret_basic';

  async function requestToken(dispatcher: Dispatcher, signal: AbortSignal): Promise<FetchedToken> {
    const secret = await untilAborted(readSecret(settings.clientSecret, `${name}.auth.clientSecret`), signal);
    try {
      return await requestWith(authentication, secret, dispatcher, signal);
    } catch (error) {
      if (!isInvalidClient(error)) throw error;
      await takeTurn(signal);
      // It may have been rotated while the request was on its way.
      const newest = await untilAborted(readSecret(settings.clientSecret, `${name}.auth.clientSecret`), signal);
      if (newest !== secret) return requestWith(authentication, newest, dispatcher, signal);
      if (authentication === 'client_secret_post') throw error;
      const fetched = await requestWith('client_secret_post', secret, dispatcher, signal);
      authentication = 'client_secret_post';
      return fetched;
    }
  }

  async function requestWith(
    method: ClientAuthentication,
    secret: string,
    dispatcher: Dispatcher,
    signal: AbortSignal,
  ): Promise<FetchedToken> {
    const server: oauth.AuthorizationServer = { issuer: address.origin, token_endpoint: address.href };
    const client: oauth.Client = { client_id: settings.clientId };
    const credentials =
      method === 'client_secret_basic' ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret);
    const parameters = settings.scope === undefined ? {} : { scope: settings.scope };
    let lifetimeMs = DEFAULT_LIFETIME_MS;
    let status = 0;
    const secrets = [secret];
    const send = async (_url: string, init: { body?: unknown; headers: Record<string, string> }) => {
      secrets.push((init.headers.authorization ?? '').replace(/^Basic /, ''));
      const answer = await ask(dispatcher, String(init.body), init.headers, signal);
      lifetimeMs = lifetimeOf(answer.fields.expires_in);
      status = answer.status;
      const known = Object.fromEntries(FIELDS.map((field) => [field, answer.fields[field]]));
      return new Response(JSON.stringify(known), { status, headers: { 'content-type': 'application/json' } });
    };
    try {
      const response = await oauth.clientCredentialsGrantRequest(server, client, credentials, parameters, {
        [oauth.customFetch]: send,
        // parseAddress has already decided where plain http may be spoken.
        [oauth.allowInsecureRequests]: address.protocol === 'http:',
      });
      const { access_token: value, token_type: type } = await oauth.processClientCredentialsResponse(
        server,
        client,
        response,
      );
      if (type !== 'bearer') throw failed('issued a token that is not a bearer token');
      if (!isSendable(value)) throw failed('issued a token that no header can carry');
      return { value, lifetimeMs };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof ConnectorError) throw error;
      if (error instanceof oauth.ResponseBodyError) throw refused(error, status, secrets);
      throw failed(`answered ${status} with something other than a token`, { status });
    }
  }

  async function ask(
    dispatcher: Dispatcher,
    form: string,
    headers: Record<string, string>,
    signal: AbortSignal,
  ): Promise<{ status: number; fields: Record<string, unknown> }> {
    let response: Dispatcher.ResponseData;
    try {
      const path = `${address.pathname}${address.search}`;
      const sent = dispatcher.request({ origin: address.origin, path, method: 'POST', headers, body: form, signal });
      response = await untilAborted(sent, signal);
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      throw new ConnectorError('TOKEN_FAILED', unansweredText(cause, from, name), { cause });
    }
    response.body.on('error', () => {});
    const { statusCode: status } = response;
    const action = actionOf(status);
    const patienceMs = retryAfterMs(response.headers, clock.wallMs());
    if (action === 'consume') turns.answered(endpoint);
    else turns.refused(endpoint, { status, retryAfterMs: patienceMs });
    if (action === 'PROVIDER_BUSY' || action === 'PROVIDER_REDIRECT') {
      const why = action === 'PROVIDER_REDIRECT' ? ', a redirect, which is never followed' : '';
      throw failed(`answered ${status}${why}`, { status }, patienceMs);
    }
    return { status, fields: await readFields(response, signal) };
  }

  /** Token requests count in the rate of their interface. While the endpoint is held back no token can be obtained. */
  async function takeTurn(signal: AbortSignal): Promise<void> {
    try {
      await turns.take(endpoint, signal);
    } catch (cause) {
      if (!(cause instanceof ConnectorError)) throw cause;
      const { message, fields, retryAfterMs: waitMs } = cause;
      throw new ConnectorError('TOKEN_FAILED', message, { cause, fields, retryAfterMs: waitMs });
    }
  }

  async function readFields(response: Dispatcher.ResponseData, signal: AbortSignal): Promise<Record<string, unknown>> {
    const encoding = headerField(response.headers, 'content-encoding');
    const { statusCode: status } = response;
    try {
      const body = openResponseBody({
        stream: response.body,
        encoding,
        maxBodyBytes: LARGEST_RESPONSE_BYTES,
        from,
        capSetting: 'nothing',
        signal,
      });
      const answer: unknown = JSON.parse((await collectBytes(body.chunks)).toString('utf8'));
      if (typeof answer === 'object' && answer !== null) return answer as Record<string, unknown>;
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      // The body of a response may hold a token, so neither it nor the parser's message goes into the error.
      const code = error instanceof ConnectorError ? error.code : 'no JSON';
      throw failed(`answered ${status} with a body that cannot be read (${code})`, { status });
    }
    throw failed(`answered ${status} with JSON that is not an object`, { status });
  }

  function refused(error: oauth.ResponseBodyError, status: number, secrets: readonly string[]): ConnectorError {
    const oauthError = quotedText(error.error, 80, secrets);
    const description = quotedText(error.error_description ?? '', LONGEST_QUOTE, secrets);
    const said = description === '' ? oauthError : `${oauthError}: ${description}`;
    return failed(`answered ${status} (${said})`, { status, oauthError });
  }

  function failed(what: string, fields: Record<string, unknown> = {}, retryAfter?: number): ConnectorError {
    const message = `${from} ${what}.`;
    return new ConnectorError('TOKEN_FAILED', message, { fields, retryAfterMs: retryAfter });
  }

  return async (signal) => {
    // Outside the deadline: waiting for our own rate limit is not a failure of the token endpoint.
    await takeTurn(signal);
    const deadline = openDeadline(timeoutMs, systemClock, () => failed(`took longer than ${timeoutMs} ms`), {
      outer: signal,
    });
    // Tokens are rare: a connection of its own per request leaves nothing open between them.
    const dispatcher = openDispatcher(address, options, 1);
    try {
      return await requestToken(dispatcher, deadline.signal);
    } finally {
      deadline.end();
      await dispatcher.destroy();
    }
  };
}

/** The life of a token in milliseconds, from the seconds that `expires_in` names, as a number or as text. */
function lifetimeOf(expiresIn: unknown): number {
  const seconds =
    typeof expiresIn === 'string' && /^\s*\d{1,15}(\.\d{0,9})?\s*$/.test(expiresIn) ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds <= 0) return DEFAULT_LIFETIME_MS;
  return Math.min(seconds * 1_000, LONGEST_LIFETIME_MS);
}

function isInvalidClient(error: unknown): boolean {
  return (
    error instanceof ConnectorError && (error.fields.oauthError === 'invalid_client' || error.fields.status === 401)
  );
}

/** OAuth 2.0 client credentials (part 5 of src/provider/README.md). */
export interface OAuth2Settings {
  readonly type: 'oauth2';
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: SecretSource;
  /** `openid` for market data. */
  readonly scope?: string | undefined;
}
