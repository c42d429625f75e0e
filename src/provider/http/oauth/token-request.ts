import type { webcrypto } from 'node:crypto';
import * as oauth from 'oauth4webapi';
import type { Dispatcher } from 'undici';
import { ConnectorError } from '../../../errors.ts';
import { systemClock } from '../../../support/clock.ts';
import { CONTENT_PROBLEMS } from '../../../support/connection-contents.ts';
import { openDeadline } from '../../../support/deadline.ts';
import { importSigningKey, type SigningAlgorithm } from '../../../support/signing-key.ts';
import { untilAborted } from '../../../support/until-aborted.ts';
import { collectBytes } from '../body-chunks.ts';
import {
  type AuthorizationOptions,
  loginOf,
  readEncodedSecret,
  readSecret,
  type SecretSource,
} from '../credentials.ts';
import { openDispatcher } from '../dispatcher.ts';
import { headerField, retryAfterMs } from '../http-response.ts';
import { quotedText } from '../quoted-text.ts';
import type { RequestEndpoint } from '../request-turns.ts';
import { openResponseBody } from '../response-body.ts';
import { actionOf, unansweredText } from '../response-error.ts';

const LARGEST_RESPONSE_BYTES = 65_536;
const LONGEST_QUOTE = 200;
const LONGEST_LIFETIME_MS = 24 * 3_600_000;

// The lifetime of a token whose `expires_in` is absent, null, 0, negative or not a number. With a longer lifetime, a
// withdrawn account is noticed late; a shorter one needs many tokens. After a 401, the token is renewed at once.
const DEFAULT_LIFETIME_MS = 5 * 60_000;

// The OAuth library gets only these members of a response. With scope openid, a server can add an id_token. The library
// would compare the issuer of the id_token, but here the issuer is unknown.
const FIELDS = ['access_token', 'token_type', 'scope', 'error', 'error_description'];

/** Requests tokens. By default uses basic authentication. If the endpoint refuses this, the form has the secret. */
export function createTokenRequest(
  settings: OAuth2Settings,
  address: URL,
  options: AuthorizationOptions,
): (signal: AbortSignal) => Promise<FetchedToken> {
  const { name, timeoutMs, turns } = options;
  const login = loginOf(options);
  const endpoint = tokenEndpoint(address, name, login, settings.clientAuthentication === 'private_key_jwt');
  let method = settings.clientAuthentication ?? 'client_secret_basic';

  async function requestToken(dispatcher: Dispatcher, signal: AbortSignal): Promise<FetchedToken> {
    const readNow = () => untilAborted(readLoginSecret(settings, login), signal);
    const requestWith = async (as: ClientLogin) => {
      const authentication = await clientAuth(as, settings, login);
      return requestGrant({ ...options, settings, endpoint, authentication, dispatcher, secret: as.secret }, signal);
    };
    const secret = await readNow();
    try {
      return await requestWith({ method, secret });
    } catch (error) {
      if (!isInvalidClient(error)) throw error;
      await takeTurn(signal);
      // Perhaps the secret was rotated during the request.
      const newest = await readNow();
      if (newest !== secret) return requestWith({ method, secret: newest });
      if (settings.clientAuthentication || method === 'client_secret_post') throw error;
      const fetched = await requestWith({ method: 'client_secret_post', secret });
      method = 'client_secret_post';
      return fetched;
    }
  }

  /** The interface's rate limit covers token requests too. Rejects with TOKEN_FAILED while the endpoint is closed. */
  async function takeTurn(signal: AbortSignal): Promise<void> {
    try {
      await turns.take(endpoint.turn, signal);
    } catch (error) {
      if (!(error instanceof ConnectorError)) throw error;
      const { message, cause, fields, retryAfterMs: waitMs } = error;
      throw new ConnectorError('TOKEN_FAILED', message, { cause, fields, retryAfterMs: waitMs });
    }
  }

  return async (signal) => {
    // The deadline starts after this wait: a wait for our own rate limit is not a failure of the token endpoint.
    await takeTurn(signal);
    const late = () => endpoint.failed(`took longer than ${timeoutMs} ms`);
    const deadline = openDeadline(timeoutMs, systemClock, late, { outer: signal });
    // Token requests are rare, so each request opens a connection and closes it.
    const dispatcher = openDispatcher(address, { ...options, ...(await options.files?.get()) }, 1);
    try {
      return await requestToken(dispatcher, deadline.signal);
    } finally {
      deadline.end();
      await dispatcher.destroy();
    }
  };
}

/** The current method to authenticate, with its secret: a client secret, or the PEM text of a private key. */
interface ClientLogin {
  readonly method: ClientAuthentication;
  readonly secret: string;
}

function readLoginSecret(settings: OAuth2Settings, login: string): Promise<string> {
  return settings.clientAuthentication === 'private_key_jwt'
    ? readEncodedSecret(present(settings.privateKey, `${login}.privateKey`), `${login}.privateKey`)
    : readSecret(present(settings.clientSecret, `${login}.clientSecret`), `${login}.clientSecret`);
}

// Returns the library's authentication. Rejects with TOKEN_FAILED if the key is unusable; a retry reads the key again.
async function clientAuth(
  { method, secret }: ClientLogin,
  settings: OAuth2Settings,
  login: string,
): Promise<oauth.ClientAuth> {
  if (method === 'client_secret_basic') return oauth.ClientSecretBasic(secret);
  if (method === 'client_secret_post') return oauth.ClientSecretPost(secret);
  const { algorithm = 'RS256', keyId, assertionAudience, tokenUrl } = settings;
  const key = await importKey(secret, algorithm, login);
  return oauth.PrivateKeyJwt(keyId ? { key, kid: keyId } : key, {
    [oauth.modifyAssertion](header, payload) {
      // Servers know EdDSA by this name of RFC 8037; the library uses a newer name.
      header.alg = algorithm;
      // The library uses the issuer as the audience, but only the token address is known here.
      payload.aud = assertionAudience ?? tokenUrl;
    },
  });
}

async function importKey(pem: string, algorithm: SigningAlgorithm, login: string): Promise<webcrypto.CryptoKey> {
  try {
    return await importSigningKey(pem, algorithm);
  } catch (cause) {
    // The message omits the parser's message, which can quote the key.
    const what = `${login}.privateKey is not the PEM text of a private key for ${algorithm}`;
    throw new ConnectorError('TOKEN_FAILED', `${what}; check the file, and ${login}.algorithm.`, { cause });
  }
}

function present(secret: SecretSource | null | undefined, setting: string): SecretSource {
  if (!secret) throw new ConnectorError('SETTINGS_INVALID', `${setting} is missing.`);
  return secret;
}

interface FetchedToken {
  readonly value: string;
  readonly lifetimeMs: number;
}

interface GrantRequest extends Pick<AuthorizationOptions, 'turns' | 'clock'> {
  readonly settings: OAuth2Settings;
  readonly endpoint: TokenEndpoint;
  readonly authentication: oauth.ClientAuth;
  readonly dispatcher: Dispatcher;
  readonly secret: string;
}

// Performs one client credentials grant with the library. Rejects with TOKEN_FAILED; the error names the OAuth error.
// An error of the library is never passed on, because it contains the whole response.
async function requestGrant(request: GrantRequest, signal: AbortSignal): Promise<FetchedToken> {
  const { settings, endpoint, authentication, secret } = request;
  const server: oauth.AuthorizationServer = {
    issuer: endpoint.address.origin,
    token_endpoint: endpoint.address.href,
  };
  const client: oauth.Client = { client_id: settings.clientId };
  let lifetimeMs = DEFAULT_LIFETIME_MS;
  let status = 0;
  const secrets = [secret];
  const send = async (_url: string, { body, headers }: { body?: unknown; headers: Record<string, string> }) => {
    secrets.push((headers.authorization ?? '').replace(/^Basic /, ''));
    const response = await sendForm(request, { body: String(body), headers }, signal);
    status = response.statusCode;
    const fields = await readFields(response, endpoint, signal);
    lifetimeMs = lifetimeOf(fields.expires_in);
    const known = Object.fromEntries(FIELDS.map((field) => [field, fields[field]]));
    return new Response(JSON.stringify(known), { status, headers: { 'content-type': 'application/json' } });
  };
  try {
    const response = await oauth.clientCredentialsGrantRequest(server, client, authentication, parameters(settings), {
      [oauth.customFetch]: send,
      // `parseAddress` has already checked that this address may use plain http.
      [oauth.allowInsecureRequests]: endpoint.address.protocol === 'http:',
    });
    const granted = await oauth.processClientCredentialsResponse(server, client, response);
    if (granted.token_type !== 'bearer') throw endpoint.failed('issued a token that is not a bearer token');
    if (CONTENT_PROBLEMS.header(granted.access_token) !== null)
      throw endpoint.failed('issued a token that no header can carry');
    return { value: granted.access_token, lifetimeMs };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof ConnectorError) throw error;
    if (!(error instanceof oauth.ResponseBodyError))
      throw endpoint.failed(`answered ${status} with something other than a token`, { status });
    const oauthError = quotedText(error.error, 80, secrets);
    const description = quotedText(error.error_description ?? '', LONGEST_QUOTE, secrets);
    const said = description === '' ? oauthError : `${oauthError}: ${description}`;
    throw endpoint.failed(`answered ${status} (${said})`, { status, oauthError });
  }
}

function isInvalidClient(error: unknown): boolean {
  return (
    error instanceof ConnectorError && (error.fields.oauthError === 'invalid_client' || error.fields.status === 401)
  );
}

function parameters({ scope, audience, resource }: OAuth2Settings): Record<string, string> {
  const given = Object.entries({ scope, audience, resource });
  return Object.fromEntries(given.filter((entry): entry is [string, string] => Boolean(entry[1])));
}

function lifetimeOf(expiresIn: unknown): number {
  const seconds =
    typeof expiresIn === 'string' && /^\s*\d{1,15}(\.\d{0,9})?\s*$/.test(expiresIn) ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== 'number' || !Number.isFinite(seconds) || seconds <= 0) return DEFAULT_LIFETIME_MS;
  return Math.min(seconds * 1_000, LONGEST_LIFETIME_MS);
}

async function sendForm(
  { endpoint, dispatcher, turns, clock }: GrantRequest,
  form: { readonly body: string; readonly headers: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const { address, turn, name, login } = endpoint;
  let response: Dispatcher.ResponseData;
  try {
    const path = `${address.pathname}${address.search}`;
    const sent = dispatcher.request({ origin: address.origin, path, method: 'POST', ...form, signal });
    response = await untilAborted(sent, signal);
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw new ConnectorError('TOKEN_FAILED', unansweredText(cause, turn.from, name, `${login}.tokenUrl`), { cause });
  }
  response.body.on('error', () => {});
  const { statusCode: status } = response;
  const action = actionOf(status);
  const patienceMs = retryAfterMs(response.headers, clock.wallMs());
  if (action === 'consume') turns.answered(turn);
  else turns.refused(turn, { status, retryAfterMs: patienceMs });
  if (action === 'PROVIDER_BUSY' || action === 'PROVIDER_REDIRECT') {
    const why = action === 'PROVIDER_REDIRECT' ? ', a redirect, which is never followed' : '';
    throw endpoint.failed(`answered ${status}${why}`, { status }, patienceMs);
  }
  return response;
}

async function readFields(
  { headers, statusCode: status, body: stream }: Dispatcher.ResponseData,
  endpoint: TokenEndpoint,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  try {
    const body = openResponseBody({
      stream,
      encoding: headerField(headers, 'content-encoding'),
      maxBodyBytes: LARGEST_RESPONSE_BYTES,
      from: endpoint.turn.from,
      capSetting: 'nothing',
      signal,
    });
    const content: unknown = JSON.parse((await collectBytes(body.chunks)).toString('utf8'));
    if (typeof content === 'object' && content !== null) return content as Record<string, unknown>;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // The body can contain a token, so the error quotes neither the body nor the parser's message.
    const code = error instanceof ConnectorError ? error.code : 'no JSON';
    throw endpoint.failed(`answered ${status} with a body that cannot be read (${code})`, { status });
  }
  throw endpoint.failed(`answered ${status} with JSON that is not an object`, { status });
}

interface TokenEndpoint {
  readonly address: URL;
  readonly name: string;
  /** The group of settings with the login, such as `referenceData.auth` or `kafka.sasl`. */
  readonly login: string;
  readonly turn: RequestEndpoint;
  failed(what: string, fields?: Readonly<Record<string, unknown>>, retryAfterMs?: number): ConnectorError;
}

function tokenEndpoint(address: URL, name: string, login: string, signs: boolean): TokenEndpoint {
  const from = `The token request of ${login} (POST ${address.origin}${address.pathname})`;
  const secret = signs ? 'privateKey, keyId, algorithm, assertionAudience' : 'clientSecret (or clientSecretFile)';
  const advice = `check tokenUrl, clientId, ${secret} and scope of ${login}`;
  return {
    address,
    name,
    login,
    turn: { key: `${address.origin} ${address.pathname}`, path: address.pathname, from },
    failed(what, fields = {}, retryAfterMs) {
      const { status } = fields;
      const isBusy = typeof status === 'number' && actionOf(status) === 'PROVIDER_BUSY';
      const text = `${from} ${what}; ${isBusy ? 'the request is repeated' : advice}.`;
      return new ConnectorError('TOKEN_FAILED', text, { fields, retryAfterMs });
    },
  };
}

/** The client's method to authenticate at the token endpoint, by its name in RFC 7591 and OpenID Connect. */
type ClientAuthentication = 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

export interface OAuth2Settings {
  readonly type: 'oauth2';
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Absent or null: basic authentication. If the endpoint refuses this, the secret is sent in the form. */
  readonly clientAuthentication?: ClientAuthentication | null | undefined;
  readonly clientSecret?: SecretSource | null | undefined;
  /** The PEM text of the key that signs the assertion of private_key_jwt. */
  readonly privateKey?: SecretSource | null | undefined;
  readonly keyId?: string | null | undefined;
  readonly algorithm?: SigningAlgorithm | undefined;
  /** The `aud` of the assertion; the token URL by default. */
  readonly assertionAudience?: string | null | undefined;
  readonly scope?: string | null | undefined;
  /** The service that the token is for, if the token endpoint requires this parameter. */
  readonly audience?: string | null | undefined;
  readonly resource?: string | null | undefined;
}
