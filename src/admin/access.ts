import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isOwnName } from './own-names.ts';
import { RestError } from './rest-error.ts';

const READING = ['GET', 'HEAD', 'OPTIONS'];
const CHANGES_ARE_OFF =
  'Changes are off, because admin.token (ADMIN_TOKEN) is not set. Reading needs no token. From a shell with access to ' +
  'Kafka, spconnect pause, resume, stop and restart do the same.';
const UNKNOWN_NAME =
  'The Host of this request is not a name of this server. Use its address, localhost, or a name in ' +
  'admin.allowedHosts (ADMIN_ALLOWED_HOSTS).';

export interface AccessOptions {
  /** Where the server listens. */
  readonly host: string;
  /** Further names by which it may be asked. */
  readonly allowedHosts: readonly string[];
  /** What a change must come with; null: nothing can be changed. */
  readonly token: (() => Promise<string>) | null;
}

/**
 * Who may do what. Every client that reaches the port may read. A change needs the token, as a bearer token or as the
 * password of basic authentication with any user: that is what Kafka Connect's tools can send. No page of another site
 * may use the browser of a user to reach this server: not by a name of its own that leads here, nor with a remembered
 * password.
 */
export function createAccess({ host, allowedHosts, token }: AccessOptions) {
  return async function checkAccess(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (!isOwnName(request.headers.host, { host, allowedHosts })) throw new RestError(403, UNKNOWN_NAME);
    if (READING.includes(request.method)) return;
    if (isFromAnotherSite(request)) throw new RestError(403, 'Changes from pages of other sites are refused.');
    if (token === null) throw new RestError(403, CHANGES_ARE_OFF);
    const given = credentialOf(request.headers.authorization);
    if (given !== null && isSame(given, await token())) return;
    reply.header('www-authenticate', 'Basic realm="structured-products-connect", charset="UTF-8"');
    throw new RestError(
      401,
      'Changes need admin.token: as a bearer token, or as the password of basic authentication.',
    );
  };
}

function isFromAnotherSite({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
  const { origin } = headers;
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== headers.host;
}

function credentialOf(header: string | undefined): string | null {
  const [, scheme = '', value = ''] = /^(bearer|basic) +([^\s]{1,4096})$/i.exec(header ?? '') ?? [];
  if (scheme.toLowerCase() === 'bearer') return value;
  if (scheme === '') return null;
  const login = Buffer.from(value, 'base64').toString('utf8');
  return login.includes(':') ? login.slice(login.indexOf(':') + 1) : null;
}

/** Takes the same time whatever differs, and whatever the lengths are. */
function isSame(given: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
}
