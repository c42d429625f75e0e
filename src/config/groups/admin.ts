import { isIPv6 } from 'node:net';
import type { SecretReader } from '../secret.ts';
import { flag, group, nullable, secret, setting, text, wholeNumber, withSecretFiles } from '../setting.ts';

const HOST = /^[A-Za-z0-9.:_-]{1,253}$/;
const allowedHosts = text(
  'names without ports, separated by commas (connector.example,.svc.cluster.local), or * for every name',
  /^[\w.*,\s-]+$/,
).transform((given) => given.split(/[,\s]+/).filter((name) => name !== ''));

export function adminSettings(secrets: SecretReader) {
  return withSecretFiles(
    ['token'],
    group({
      enabled: setting(flag(), 'Run the admin server.', true),
      host: setting(
        text('an address of this machine without a port, like 127.0.0.1 or 0.0.0.0', HOST).refine(
          (host) => isIPv6(host) || !host.includes(':'),
        ),
        'The address of the server: 127.0.0.1 for this machine only, 0.0.0.0 for every network.',
        '127.0.0.1',
      ),
      port: setting(wholeNumber(0, 65_535), 'The port of the server; 0: any free port.', 8083),
      allowedHosts: setting(
        nullable(allowedHosts),
        'Host names that clients may use in addition to localhost and IP addresses: names and .suffixes, separated by commas, or * for every name.',
        null,
      ),
      token: setting(
        nullable(secret(secrets, 'header')),
        'Clients with this token may pause, stop, restart and reset sources; null: no client may do so.',
        null,
      ),
    }),
  ).meta({ wanted: 'a group of settings: enabled, host, port, allowedHosts, token' });
}
