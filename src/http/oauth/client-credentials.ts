import type { Authorization, AuthorizationOptions } from '../credentials.ts';
import { createHeldToken } from './held-token.ts';
import type { OAuth2Settings } from './oauth2-settings.ts';

/** OAuth 2.0 client credentials as the authorization of requests: one bearer token for all of them. */
export function createClientCredentials(settings: OAuth2Settings, options: AuthorizationOptions): Authorization {
  const held = createHeldToken(settings, options);
  return {
    headers: async (signal) => bearer(await held.get(signal)),
    async renew(refused, signal) {
      held.forget((refused.authorization ?? '').replace(/^Bearer /, ''));
      return bearer(await held.get(signal));
    },
  };
}

function bearer(token: string): { readonly authorization: string } {
  return { authorization: `Bearer ${token}` };
}
