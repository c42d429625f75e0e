import { ConnectorError } from '../../errors.ts';
import { isLoopback } from '../../support/loopback.ts';

const PATH = /^(?:\/[A-Za-z0-9\-._~!$&'()*+,;=:@%]+)+$/;
const LONGEST_PATH = 2_048;
const LONGEST_TARGET = 8_192;

/**
 * Parses an address from the settings. Throws if the address does not use https. Plain http is accepted only for this
 * machine (loopback), or if `allowHttp` is true. The error never quotes the address, which can contain credentials.
 * @param setting the name of the setting, such as `referenceData.url`
 */
export function parseAddress(text: string, setting: string, allowHttp: boolean): URL {
  const url = URL.parse(text);
  if (url === null) throw invalid(`${setting} is not an address; write https://host/path.`);
  if (url.username !== '' || url.password !== '') {
    throw invalid(`${setting} holds a user or a password; move them to auth.`);
  }
  if (url.hash !== '')
    throw invalid(`${setting} holds a fragment (#…); remove the fragment, because no request sends it.`);
  if (url.protocol === 'https:') return url;
  if (url.protocol !== 'http:') throw invalid(`${setting} begins with ${url.protocol}; use https.`);
  if (allowHttp || isLoopback(url.hostname)) return url;
  throw invalid(`${setting} is plain http to another machine; use https, or set allowHttp: true on a trusted network.`);
}

/**
 * Returns the request target (path and query) below a base address. Throws if `path` could lead to another origin, like `//host`.
 */
export function requestTarget(
  base: URL,
  path: string,
  query: readonly (readonly [name: string, value: string])[],
): string {
  if (path.length > LONGEST_PATH || !PATH.test(path)) throw notAPath();
  const url = new URL(base.origin);
  const pathname = `${base.pathname.replace(/\/$/, '')}${path}`;
  url.pathname = pathname;
  // `URL` resolves the segments "." and ".." (also "%2e"). Then the two paths differ, and the path is refused.
  if (url.pathname !== pathname || url.origin !== base.origin) throw notAPath();
  for (const [name, value] of query) url.searchParams.append(name, value);
  const target = `${url.pathname}${url.search}`;
  if (target.length > LONGEST_TARGET) {
    throw new ConnectorError(
      'PROTOCOL_VIOLATION',
      `A request was not sent: its path and query have ${target.length} characters, more than ${LONGEST_TARGET}.`,
    );
  }
  return target;
}

function notAPath(): ConnectorError {
  return new ConnectorError('PROTOCOL_VIOLATION', 'A request was not sent: its path is not a plain absolute path.');
}

function invalid(message: string): ConnectorError {
  return new ConnectorError('SETTINGS_INVALID', message);
}
