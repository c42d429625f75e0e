import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export type Certificates = ReturnType<typeof makeCertificates>;

const NAMES = 'subjectAltName=DNS:localhost,DNS:provider.test,IP:127.0.0.1';

/** An authority of our own and what it signed; all made afresh, since certificates in a repository expire. */
export function makeCertificates() {
  const folder = mkdtempSync(join(tmpdir(), 'spconnect-certificates-'));
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const make = (name: string, extension: string, ...more: string[]): Certificate => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
    openssl('req', '-x509', ...key, '-subj', `/CN=${name}`, '-addext', extension, '-out', `${name}.crt`, ...more);
    return { cert: read(`${name}.crt`), key: read(`${name}.key`) };
  };
  // Only "openssl ca" sets both dates in every version of openssl that is still about.
  const makeExpired = (): Certificate => {
    const request = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'expired.key'];
    openssl('req', '-new', ...request, '-subj', '/CN=expired', '-out', 'expired.csr');
    writeFileSync(join(folder, 'index'), '');
    writeFileSync(
      join(folder, 'ca.cnf'),
      `[ca]\ndefault_ca=d\n[d]\nnew_certs_dir=.\ndatabase=index\nrand_serial=yes\ndefault_md=sha256\npolicy=p\nx509_extensions=x\n[p]\ncommonName=supplied\n[x]\n${NAMES}\n`,
    );
    const signer = ['-config', 'ca.cnf', '-cert', 'ca.crt', '-keyfile', 'ca.key', '-batch', '-notext'];
    const dates = ['-startdate', '20200101000000Z', '-enddate', '20200102000000Z'];
    openssl('ca', ...signer, ...dates, '-in', 'expired.csr', '-out', 'expired.crt');
    return { cert: read('expired.crt'), key: read('expired.key') };
  };
  try {
    const { cert: ca } = make('ca', 'keyUsage=keyCertSign,cRLSign');
    const bySelf = ['-addext', 'basicConstraints=critical,CA:FALSE'];
    const signed = [...bySelf, '-CA', 'ca.crt', '-CAkey', 'ca.key'];
    return {
      ca,
      /** For localhost, 127.0.0.1 and provider.test. */
      good: make('good', NAMES, ...signed),
      otherHost: make('other-host', 'subjectAltName=DNS:other.test', ...signed),
      expired: makeExpired(),
      /** Signed by itself, not by the authority. */
      selfSigned: make('self-signed', NAMES, ...bySelf),
      /** For a client that authenticates with a certificate. */
      client: make('client', 'extendedKeyUsage=clientAuth', ...signed),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
