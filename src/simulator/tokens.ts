import { randomUUID } from 'node:crypto';
import { type Answer, jsonAnswer } from './answer.ts';
import type { SimulatorClock } from './clock.ts';

/** The authorization server: client credentials in, bearer tokens out (part 5 of src/provider/README.md, RFC 6749). */
export interface Tokens {
  /** Answers a request to the token endpoint. */
  grant(authorization: string | undefined, contentType: string | undefined, body: string): Answer;
  /** Undefined when the header carries a valid token, else why it does not. */
  refusal(authorization: string | undefined): string | undefined;
  /** Makes all tokens invalid at once. */
  invalidateAll(): void;
  readonly granted: number;
}

/** How many tokens are valid at a time; the oldest are forgotten. */
const MAX_TOKENS = 10_000;

export function createTokens(options: {
  clientId: string;
  clientSecret: string;
  lifetimeSeconds: number;
  clock: SimulatorClock;
}): Tokens {
  const { clock, lifetimeSeconds } = options;
  const expiries = new Map<string, number>();
  let granted = 0;

  const refuse = (status: number, error: string, description: string): Answer => {
    const answer = jsonAnswer(JSON.stringify({ error, error_description: description }), status);
    const challenge = status === 401 ? { 'www-authenticate': 'Basic realm="simulator"' } : {};
    return { ...answer, headers: { ...answer.headers, pragma: 'no-cache', ...challenge } };
  };
  return {
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
      if ((form.get('scope') ?? 'openid') !== 'openid')
        return refuse(400, 'invalid_scope', 'The scope must be openid.');
      const token = `simulated-${randomUUID()}`;
      expiries.set(token, clock.wallMs() + lifetimeSeconds * 1_000);
      const oldest = expiries.size > MAX_TOKENS ? expiries.keys().next().value : undefined;
      if (oldest !== undefined) expiries.delete(oldest);
      granted += 1;
      const grant = { access_token: token, token_type: 'Bearer', expires_in: lifetimeSeconds, scope: 'openid' };
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

/** client_secret_basic: id and secret are form-encoded before they are joined (RFC 6749, 2.3.1). */
function basicCredentials(authorization: string | undefined): { id: string; secret: string } | undefined {
  const encoded = /^Basic ([A-Za-z0-9+/=]+)$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  if (colon < 0) return undefined;
  const decode = (part: string) => new URLSearchParams(`value=${part}`).get('value') ?? '';
  return { id: decode(text.slice(0, colon)), secret: decode(text.slice(colon + 1)) };
}
