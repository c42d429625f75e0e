import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { type Answer, jsonAnswer } from './answer.ts';
import type { SimulatorClock } from './clock.ts';

/**
 * The authorization server: exchanges client credentials for bearer tokens (part 5 of src/provider/README.md, RFC
 * 6749). The tokens are signed, so that a broker or a registry can verify them.
 */
export interface Tokens {
  grant(authorization: string | undefined, contentType: string | undefined, body: string): Answer;
  /** Undefined if the header has a valid token, else the reason of the refusal. */
  refusal(authorization: string | undefined): string | undefined;
  invalidateAll(): void;
  readonly keys: SigningKeys;
  readonly granted: number;
}

const ISSUER = 'https://simulator.example';
const USUAL_AUDIENCE = 'structured-products';
const USUAL_SCOPE = 'openid';

const MAX_TOKENS = 10_000;

export function createTokens(options: {
  clientId: string;
  clientSecret: string;
  lifetimeSeconds: number;
  clock: SimulatorClock;
}): Tokens {
  const { clock, lifetimeSeconds } = options;
  const expiries = new Map<string, number>();
  const keys = createSigningKeys();
  let granted = 0;

  const refuse = (status: number, error: string, description: string): Answer => {
    const answer = jsonAnswer(JSON.stringify({ error, error_description: description }), status);
    const challenge = status === 401 ? { 'www-authenticate': 'Basic realm="simulator"' } : {};
    return { ...answer, headers: { ...answer.headers, pragma: 'no-cache', ...challenge } };
  };
  return {
    keys,
    get granted() {
      return granted;
    },
    grant(authorization, contentType, body) {
      if (!contentType?.startsWith('application/x-www-form-urlencoded')) {
        return refuse(400, 'invalid_request', 'The body must be application/x-www-form-urlencoded.');
      }
      const form = new URLSearchParams(body);
      const basic = basicCredentials(authorization);
      if (basic && form.has('client_secret')) {
        return refuse(400, 'invalid_request', 'The client authenticated in more than one way.');
      }
      const id = basic?.id ?? form.get('client_id');
      const secret = basic?.secret ?? form.get('client_secret');
      if (id !== options.clientId || secret !== options.clientSecret) {
        return refuse(401, 'invalid_client', 'The client is unknown or its secret is wrong.');
      }
      if (form.get('grant_type') !== 'client_credentials') {
        return refuse(400, 'unsupported_grant_type', 'The grant type must be client_credentials.');
      }
      const scope = form.get('scope') ?? USUAL_SCOPE;
      // A token for this provider must have the scope openid; a token for another service may have another scope.
      const audience = form.get('audience') ?? form.get('resource') ?? USUAL_AUDIENCE;
      if (audience === USUAL_AUDIENCE && scope !== USUAL_SCOPE)
        return refuse(400, 'invalid_scope', 'The scope must be openid.');
      const nowMs = clock.wallMs();
      // The times are rounded to whole seconds, so that the token lives at least as long as expires_in says.
      const times = { iat: Math.floor(nowMs / 1_000), exp: Math.ceil(nowMs / 1_000) + lifetimeSeconds };
      const token = keys.sign({ iss: ISSUER, sub: id, aud: audience, scope, ...times, jti: randomUUID() });
      expiries.set(token, nowMs + lifetimeSeconds * 1_000);
      const oldest = expiries.size > MAX_TOKENS ? expiries.keys().next().value : undefined;
      if (oldest !== undefined) expiries.delete(oldest);
      granted += 1;
      const grant = { access_token: token, token_type: 'Bearer', expires_in: lifetimeSeconds, scope };
      const answer = jsonAnswer(JSON.stringify(grant));
      return { ...answer, headers: { ...answer.headers, pragma: 'no-cache' } };
    },
    refusal(authorization) {
      const token = /^Bearer ([!-~]+)$/i.exec(authorization ?? '')?.[1];
      if (token === undefined) return 'The request carries no bearer token.';
      const expiry = expiries.get(token);
      if (expiry === undefined) return 'The token is unknown.';
      return clock.wallMs() < expiry ? undefined : 'The token has expired.';
    },
    invalidateAll: () => expiries.clear(),
  };
}

/** Reads client_secret_basic: id and secret are form-encoded before they are joined (RFC 6749, 2.3.1). */
function basicCredentials(authorization: string | undefined): { id: string; secret: string } | undefined {
  const encoded = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  if (colon < 0) return undefined;
  const decode = (part: string) => new URLSearchParams(`value=${part}`).get('value') ?? '';
  return { id: decode(text.slice(0, colon)), secret: decode(text.slice(colon + 1)) };
}

/** The keys that sign the tokens (ES256). */
interface SigningKeys {
  sign(claims: Readonly<Record<string, unknown>>): string;
  /** The public parts of the current, the next and the previous key, as a JWK Set (RFC 7517). */
  published(): { readonly keys: readonly object[] };
  /** Signs new tokens with the next key. A client that fetched the keys earlier already has this key. */
  rotate(): void;
}

interface SigningKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

function createSigningKeys(): SigningKeys {
  let current = newKey();
  let next = newKey();
  let before: readonly SigningKey[] = [];
  return {
    sign(claims) {
      const { id, privateKey } = current;
      const parts = [{ alg: 'ES256', typ: 'at+jwt', kid: id }, claims].map((part) =>
        Buffer.from(JSON.stringify(part)).toString('base64url'),
      );
      const signed = sign('sha256', Buffer.from(parts.join('.')), { key: privateKey, dsaEncoding: 'ieee-p1363' });
      return [...parts, signed.toString('base64url')].join('.');
    },
    published: () => ({
      keys: [current, next, ...before].map(({ id, publicKey }) => ({
        ...publicKey.export({ format: 'jwk' }),
        kid: id,
        alg: 'ES256',
        use: 'sig',
      })),
    }),
    rotate() {
      before = [current];
      current = next;
      next = newKey();
    },
  };
}

function newKey(): SigningKey {
  return { id: randomUUID(), ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) };
}
