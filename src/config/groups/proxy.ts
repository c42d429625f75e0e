import type { SecretReader } from '../secret.ts';
import { nullable, secret, setting, text } from '../setting.ts';

const noProxy = text(
  'hosts separated by commas, like .example.com,10.0.0.7,172.16.0.0/12',
  /^[\w.*:/[\],\s-]+$/,
).transform((given) => given.split(/[,\s]+/).filter((host) => host !== ''));

/** How to reach what lies beyond a proxy. Around them `withSecretFiles` with `proxy`. */
export function proxySettings(secrets: SecretReader) {
  return {
    proxy: setting(
      nullable(secret(secrets, 'the URL of an http proxy in quotes')),
      'An http proxy, which may hold a login; never used for this machine.',
      null,
    ),
    noProxy: setting(
      nullable(noProxy),
      'Hosts that are reached without it, separated by commas: names, .suffixes, host:port, ranges like 10.0.0.0/8, or *.',
      null,
    ),
  };
}
