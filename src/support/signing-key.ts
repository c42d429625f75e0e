import { createPrivateKey, webcrypto } from 'node:crypto';

const ALGORITHMS = {
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256' },
  ES256: { name: 'ECDSA', namedCurve: 'P-256' },
  EdDSA: { name: 'Ed25519', namedCurve: 'Ed25519' },
} as const satisfies Readonly<Record<string, webcrypto.RsaHashedImportParams | webcrypto.EcKeyImportParams>>;

export type SigningAlgorithm = keyof typeof ALGORITHMS;

/** Rejects if the PEM text is not a private key for the algorithm. The error can quote the key. */
export async function importSigningKey(pem: string, algorithm: SigningAlgorithm): Promise<webcrypto.CryptoKey> {
  const der = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' });
  return webcrypto.subtle.importKey('pkcs8', der, ALGORITHMS[algorithm], false, ['sign']);
}

/** True if the key can sign with the algorithm; undefined if the algorithm is unknown. */
export async function canSign(pem: string, algorithm: string): Promise<boolean | undefined> {
  if (!Object.hasOwn(ALGORITHMS, algorithm)) return undefined;
  return importSigningKey(pem, algorithm as SigningAlgorithm).then(
    () => true,
    () => false,
  );
}
