import { BlockList, isIP } from 'node:net';

/**
 * Whether an address is reached without the proxy, as NO_PROXY is commonly read: `*` is every host, a name stands for
 * itself and for what is below it (with or without a dot or `*.` in front), `:port` limits it to that port, and a range
 * (`10.0.0.0/8`) stands for the addresses in it. Names are not resolved for that.
 */
export function isWithoutProxy(address: URL, exceptions: readonly string[]): boolean {
  const host = withoutBrackets(address.hostname.toLowerCase());
  const port = address.port || (address.protocol === 'https:' ? '443' : '80');
  return exceptions.some((exception) => {
    // An IPv6 address ends like one with a port.
    if (exception === '*' || exception.toLowerCase() === host) return true;
    if (exception.includes('/')) return isInRange(host, exception);
    const [, named = '', onlyPort] = /^(.*?)(?::(\d{1,5}))?$/.exec(exception) ?? [];
    const name = withoutBrackets(named.toLowerCase()).replace(/^\*?\./, '');
    if (onlyPort !== undefined && onlyPort !== port) return false;
    return name !== '' && (host === name || host.endsWith(`.${name}`));
  });
}

function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}

/** A text that is not a range of addresses contains no address. */
function isInRange(host: string, range: string): boolean {
  const [, network = '', bits = ''] = /^(.*)\/(\d{1,3})$/.exec(range) ?? [];
  const version = isIP(network);
  if (version === 0 || isIP(host) !== version || Number(bits) > (version === 4 ? 32 : 128)) return false;
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family);
  return list.check(host, family);
}
