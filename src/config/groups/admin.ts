import type { SecretReader } from '../secret.ts';
import { flag, group, nullable, secret, setting, text, wholeNumber, withSecretFiles } from '../setting.ts';

const HOST = /^[A-Za-z0-9.:_-]{1,253}$/;
const allowedHosts = text(
  'names without ports, separated by commas, like connector.example,.svc.cluster.local, or *',
  /^[\w.*,\s-]+$/,
).transform((given) => given.split(/[,\s]+/).filter((name) => name !== ''));

export function adminSettings(secrets: SecretReader) {
  return withSecretFiles(
    ['token'],
    group({
      enabled: setting(flag(), 'Whether the admin server runs.', true),
      host: setting(
        text('an address of this machine, like 127.0.0.1 or 0.0.0.0', HOST),
        'Where it listens: this machine alone, or 0.0.0.0 for every network.',
        '127.0.0.1',
      ),
      port: setting(wholeNumber(0, 65_535), 'Its port; 0 for a free one.', 8083),
      allowedHosts: setting(
        nullable(allowedHosts),
        'Names by which clients call it, besides localhost and addresses, separated by commas: names, .suffixes, or *.',
        null,
      ),
      token: setting(
        nullable(secret(secrets)),
        'A client with it may pause, stop, restart and reset sources; without it, no client may.',
        null,
      ),
    }),
  ).meta({ wanted: 'settings of its own: enabled, host, port, allowedHosts, token' });
}
