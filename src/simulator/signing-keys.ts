import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';

/** The keys that sign the tokens (ES256), as an authorization server publishes them (RFC 7517). */
export interface SigningKeys {
  /** A JWT (RFC 7519) with these claims. */
  sign(claims: Readonly<Record<string, unknown>>): string;
  /** The key in use, the next one, and the one before. */
  published(): { readonly keys: readonly object[] };
  /** Signs with the next key from now on, which those who have fetched the keys before know already. */
  rotate(): void;
}

interface SigningKey {
  readonly id: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function createSigningKeys(): SigningKeys {
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
