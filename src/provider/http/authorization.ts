import { ConnectorError } from '../../errors.ts';
import {
  type Authorization,
  type AuthorizationOptions,
  type Credentials,
  loginOf,
  readEncodedSecret,
  readSecret,
  type SecretSource,
} from './credentials.ts';
import { createClientCredentials } from './oauth/held-token.ts';
import type { OAuth2Settings } from './oauth/token-request.ts';

// The request itself uses these header fields, so an API key in one of these fields would break every request.
const RESERVED_FIELDS =
  /^(host|connection|content-.*|transfer-encoding|accept|accept-encoding|cache-control|upgrade|te|trailer|expect)$/;
const FIELD_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;

/**
 * The methods to authorise a request. For market data, the provider documents OAuth 2.0 client credentials (part 5 of
 * src/provider/README.md). For reference data, the provider documents no method, so other usual methods work too.
 */
export type AuthorizationSettings =
  | OAuth2Settings
  | { readonly type: 'bearer'; readonly token: SecretSource }
  | { readonly type: 'basic'; readonly user: string; readonly password: SecretSource }
  | { readonly type: 'apiKey'; readonly header: string; readonly value: SecretSource }
  | { readonly type: 'none' };

export function createAuthorization(settings: AuthorizationSettings, options: AuthorizationOptions): Authorization {
  switch (settings.type) {
    case 'oauth2':
      return createClientCredentials(settings, options);
    case 'bearer': {
      const read = () => readSecret(settings.token, `${loginOf(options)}.token`);
      return rereadEachTime(async () => ({ authorization: `Bearer ${await read()}` }));
    }
    case 'basic': {
      if (settings.user.includes(':'))
        throw invalid(options, 'user holds a colon, but basic authentication cannot send a colon');
      const read = () => readEncodedSecret(settings.password, `${loginOf(options)}.password`);
      return rereadEachTime(async () => {
        const pair = Buffer.from(`${settings.user}:${await read()}`, 'utf8').toString('base64');
        return { authorization: `Basic ${pair}` };
      });
    }
    case 'apiKey': {
      const field = settings.header.toLowerCase();
      if (!FIELD_NAME.test(field) || RESERVED_FIELDS.test(field))
        throw invalid(options, 'header names a field that cannot hold an API key');
      const read = () => readSecret(settings.value, `${loginOf(options)}.value`);
      return rereadEachTime(async () => ({ [field]: await read() }));
    }
    case 'none':
      return rereadEachTime(async () => ({}));
  }
}

/** Reads the secret for each request, because other programs renew it. After a 401, sends only a changed secret. */
function rereadEachTime(read: () => Promise<Credentials>): Authorization {
  return {
    headers: () => read(),
    async renew(refused) {
      const now = await read();
      return Object.entries(now).every(([field, value]) => refused[field] === value) ? null : now;
    },
  };
}

function invalid(options: AuthorizationOptions, what: string): ConnectorError {
  return new ConnectorError('SETTINGS_INVALID', `${loginOf(options)}.${what}.`);
}
