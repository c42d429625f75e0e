/** True for an address of this machine: requests to it do not leave the machine. An IPv6 address can have brackets. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || /^127(\.[0-9]{1,3}){3}$/.test(name);
}
