const CERTIFICATE = /^(ERR_TLS_|CERT_|UNABLE_TO_|DEPTH_ZERO_SELF_SIGNED|SELF_SIGNED|HOSTNAME_MISMATCH)/;
/** These errors of Node.js and OpenSSL usually come from a server that does not use TLS. */
const NO_TLS = /before secure TLS connection|wrong.version.number|packet.length.too.long/i;

/**
 * Advice for a failure of TLS; null for a failure of another kind.
 * @param ca the name of the setting that holds the trusted authorities
 * @param address the name of the setting that holds the server's address
 */
export function tlsAdvice(cause: unknown, ca: string, address: string): string | null {
  const { code, message } = (cause ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  if (CERTIFICATE.test(String(code))) {
    return `the server's certificate is not accepted; set ${ca} to the file of the authority that signed the certificate`;
  }
  return NO_TLS.test(`${code} ${message}`) ? `check that the port in ${address} speaks TLS` : null;
}
