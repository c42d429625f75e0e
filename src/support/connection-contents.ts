import { createPrivateKey, X509Certificate } from 'node:crypto';

const SENDABLE = /^[\u0021-\u007e](?:[\u0020-\u007e]{0,16382}[\u0021-\u007e])?$/;

/** Each function returns null, or the problem of a setting's content: the end of a sentence about the setting. */
export const CONTENT_PROBLEMS = {
  proxy(address: string): string | null {
    const uri = URL.parse(address);
    if (uri === null || !['http:', 'https:'].includes(uri.protocol)) return 'is not an http or https address';
    if (uri.pathname !== '/' || uri.search !== '' || uri.hash !== '') return 'has a path, query or fragment; remove it';
    const isDecodable = succeeds(() => decodeURIComponent(uri.username + uri.password));
    return isDecodable ? null : 'has a login with a bare %; write it as %25';
  },
  header(value: string): string | null {
    return SENDABLE.test(value) ? null : 'holds characters that no header can carry; use visible ASCII';
  },
  token(value: string): string | null {
    if (/^bearer /i.test(value)) return 'begins with "Bearer "; remove this word, because it is added';
    return CONTENT_PROBLEMS.header(value);
  },
  /** Reads every certificate. TLS would ignore a broken certificate, and would trust fewer authorities. */
  ca(pem: string): string | null {
    const blocks = pem.match(/-----BEGIN ([A-Z0-9 ]*CERTIFICATE)-----[\s\S]*?-----END \1-----/g) ?? [];
    const begun = pem.match(/-----BEGIN /g) ?? [];
    if (begun.length === 0) return 'has no certificate in PEM format';
    const isWhole = blocks.length === begun.length && succeeds(() => blocks.map((block) => new X509Certificate(block)));
    return isWhole ? null : 'has a broken certificate, or another content than certificates';
  },
  cert(pem: string): string | null {
    return succeeds(() => new X509Certificate(pem)) ? null : 'has no usable certificate in PEM format';
  },
  key(pem: string): string | null {
    return succeeds(() => createPrivateKey(pem)) ? null : 'has no private key in PEM format, or needs a passphrase';
  },
};

function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
