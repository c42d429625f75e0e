/**
 * Whether an address is reached without the proxy, as NO_PROXY is commonly read: `*` is every host, a name stands for
 * itself and for what is below it (with or without a dot or `*.` in front), and `:port` limits it to that port.
 * Ranges of addresses (`10.0.0.0/8`) are not known.
 */
export function isWithoutProxy(address: URL, exceptions: readonly string[]): boolean {
  const host = address.hostname.toLowerCase().replace(/^\[|\]$/g, '');
  const port = address.port || (address.protocol === 'https:' ? '443' : '80');
  return exceptions.some((exception) => {
    // An IPv6 address ends like one with a port.
    if (exception === '*' || exception.toLowerCase() === host) return true;
    const [, named = '', onlyPort] = /^(.*?)(?::(\d{1,5}))?$/.exec(exception) ?? [];
    const name = named.toLowerCase().replace(/^\*?\./, '');
    if (onlyPort !== undefined && onlyPort !== port) return false;
    return name !== '' && (host === name || host.endsWith(`.${name}`));
  });
}
