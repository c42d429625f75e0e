import type { Mechanism } from 'kafkajs';
import type { Clock } from '../../support/clock.ts';
import { LoginFailed } from './kafkajs-errors.ts';

export interface BrokerTokens {
  get(): Promise<string>;
  refused(token: string): void;
}

/** RFC 7628, section 3.1. */
const SEPARATOR = '\u0001';
const LENGTH_BYTES = 4;
const LONGEST_REASON = 300;

/** Replaces kafkajs' login. With kafkajs' login, a broker that refuses the token disconnects without a reason. */
export function oauthbearer(
  tokens: BrokerTokens,
  { extensions, clock }: { readonly extensions: Readonly<Record<string, string>>; readonly clock: Clock },
): Mechanism {
  return {
    mechanism: 'oauthbearer',
    authenticationProvider: ({ host, port, saslAuthenticate }) => ({
      async authenticate() {
        const token = await tokens.get().catch((error: unknown) => {
          throw new LoginFailed(`There is no token for the brokers. ${messageOf(error)}`, error);
        });
        const reason = await answerTo(firstMessage(token, extensions), saslAuthenticate);
        if (reason === '') return;
        tokens.refused(token);
        throw new LoginFailed(
          `The broker ${host}:${port} refuses the token of kafka.sasl (${reason}). ${describeToken(token, clock.wallMs())}. ` +
            'Compare the token with the settings of the brokers (sasl.oauthbearer.expected.audience, ' +
            'expected.issuer, jwks.endpoint.url). Set audience, scope or extensions of kafka.sasl to match.',
        );
      },
    }),
  };
}

type Send = Parameters<Mechanism['authenticationProvider']>[0]['saslAuthenticate'];

async function answerTo(message: string, send: Send): Promise<string> {
  try {
    const refusal = await send({ request: requestOf(message), response: RESPONSE });
    if (!refusal) return '';
    // The broker ends the exchange after this message.
    await send({ request: requestOf(SEPARATOR), response: RESPONSE }).catch(() => {});
    return statusOf(refusal);
  } catch (error) {
    if (error instanceof Error && 'type' in error && error.type === 'SASL_AUTHENTICATION_FAILED') {
      return error.message.slice(0, LONGEST_REASON);
    }
    throw error;
  }
}

function firstMessage(token: string, extensions: Readonly<Record<string, string>>): string {
  const parts = [`auth=Bearer ${token}`, ...Object.entries(extensions).map(([name, value]) => `${name}=${value}`)];
  return `n,,${SEPARATOR}${parts.join(SEPARATOR)}${SEPARATOR}${SEPARATOR}`;
}

function requestOf(message: string) {
  const text = Buffer.from(message, 'utf8');
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeInt32BE(text.length);
  return { encode: () => Buffer.concat([length, text]) };
}

const RESPONSE = {
  decode: (bytes: Buffer) => bytes,
  parse: (bytes: Buffer) => bytes.subarray(LENGTH_BYTES).toString('utf8'),
};

function statusOf(refusal: string): string {
  try {
    const { status }: { status?: unknown } = JSON.parse(refusal);
    if (typeof status === 'string') return status.slice(0, LONGEST_REASON);
  } catch {
    // The refusal is not JSON.
  }
  return refusal.slice(0, LONGEST_REASON);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const LONGEST_VALUE = 200;
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** Brokers check these claims of a token. The claims are not secret. */
const SHOWN = { iss: 'issuer', aud: 'audience', sub: 'subject', scope: 'scope', scp: 'scope' } as const;

/** The description must not allow anyone to rebuild the token. */
function describeToken(token: string, wallMs: number): string {
  const claims = claimsOf(token);
  if (claims === null) return 'The token is not a JWT, so only the brokers can read it';
  const named = Object.entries(SHOWN).flatMap(([claim, name]) =>
    claims[claim] === undefined ? [] : [`${name} ${shown(claims[claim])}`],
  );
  const missing = ['iss', 'aud'].filter((claim) => claims[claim] === undefined);
  const lacks = missing.length === 0 ? '' : `, and no ${missing.join(' and no ')}`;
  return `It has ${named.join(', ') || 'no claims'}${lacks}; ${life(claims.exp, wallMs)}`;
}

function life(exp: unknown, wallMs: number): string {
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return 'it does not say when it expires';
  const seconds = Math.round(exp - wallMs / 1_000);
  return seconds <= 0 ? `it expired ${-seconds} s ago by this machine's clock` : `it expires in ${seconds} s`;
}

function claimsOf(token: string): Readonly<Record<string, unknown>> | null {
  const payload = token.split('.')[1];
  if (payload === undefined) return null;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return typeof claims === 'object' && claims !== null ? (claims as Readonly<Record<string, unknown>>) : null;
  } catch {
    return null;
  }
}

function shown(value: unknown): string {
  const text = (JSON.stringify(value) ?? 'nothing').replace(UNSAFE, ' ');
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
