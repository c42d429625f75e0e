/**
 * True if a host name or address stands for this machine: traffic to it cannot be overheard, so it needs no TLS.
 * IPv6 addresses come with or without brackets, as `URL.hostname` and broker lists write them.
 */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || /^127(\.[0-9]{1,3}){3}$/.test(name);
}
