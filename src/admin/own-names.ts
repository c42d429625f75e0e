import { isIP } from 'node:net';

/**
 * Whether a request's `Host` is a name that this server goes by: an address, `localhost`, the name that it listens on,
 * or one of `admin.allowedHosts`, where `.example` means every name below it and `*` every name.
 *
 * A browser sends the name that it was given. A page of another site can let its own name lead to this server and then
 * read its responses, as that is the same site to the browser; it cannot do so with an address. Without `Host` the
 * client is no browser.
 */
export function isOwnName(
  given: string | undefined,
  { host, allowedHosts }: { readonly host: string; readonly allowedHosts: readonly string[] },
): boolean {
  if (given === undefined || given === '') return true;
  if (!URL.canParse(`http://${given}`)) return false;
  const name = withoutEnds(new URL(`http://${given}`).hostname);
  if (isIP(name) !== 0 || name === 'localhost' || name === withoutEnds(host)) return true;
  return allowedHosts.some((allowed) => {
    if (allowed === '*') return true;
    const known = withoutEnds(allowed).replace(/^\*(?=\.)/, '');
    return known.startsWith('.') ? name.endsWith(known) : name === known;
  });
}

/** The brackets of an IPv6 address, and the dot that ends a whole name. */
function withoutEnds(name: string): string {
  return name.toLowerCase().replace(/^\[|\]$|\.$/g, '');
}
