const LONGEST_VALUE = 200;
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
/** The claims by which brokers judge a token, and what messages call them. None is a secret. */
const SHOWN = { iss: 'issuer', aud: 'audience', sub: 'subject', scope: 'scope', scp: 'scope' } as const;

/** What a token says about itself, for a message about its refusal; never anything from which it could be made again. */
export function describeToken(token: string, wallMs: number): string {
  const claims = claimsOf(token);
  if (claims === null) return 'It is no JWT, so that only the brokers can know what it says';
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

/** The payload of a JWT, unverified. */
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
