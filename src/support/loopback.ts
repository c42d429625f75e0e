/** True for this machine: its traffic cannot be overheard. IPv6 addresses come with or without brackets. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '');
  return name === 'localhost' || name === '::1' || /^127(\.[0-9]{1,3}){3}$/.test(name);
}
