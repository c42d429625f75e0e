import type { Dispatcher } from 'undici';
import { ConnectorError } from '../../errors.ts';
import { systemClock } from '../../support/clock.ts';
import { openDeadline } from '../../support/deadline.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import type { AuthorizationOptions } from '../credentials.ts';
import { openDispatcher } from '../dispatcher.ts';
import { type ClientLogin, clientAuth, readLoginSecret } from './client-login.ts';
import type { OAuth2Settings } from './oauth2-settings.ts';
import { tokenEndpoint } from './token-endpoint.ts';
import { exchangeForm } from './token-exchange.ts';
import { type FetchedToken, isInvalidClient, requestGrant } from './token-grant.ts';

/**
 * Makes the function that asks for one token (client credentials grant). Unless the settings name another way, the
 * client authenticates with basic; where that is refused as invalid_client, with the secret in the form, from then on.
 * Rejects with TOKEN_FAILED.
 */
export function createTokenRequest(
  settings: OAuth2Settings,
  address: URL,
  options: AuthorizationOptions,
): (signal: AbortSignal) => Promise<FetchedToken> {
  const { name, login = `${name}.auth`, timeoutMs, turns, clock } = options;
  const endpoint = tokenEndpoint(address, name, login);
  let method = settings.clientAuthentication ?? 'client_secret_basic';
  const readNow = (signal: AbortSignal) => untilAborted(readLoginSecret(settings, login), signal);

  async function requestToken(dispatcher: Dispatcher, signal: AbortSignal): Promise<FetchedToken> {
    const requestWith = async (as: ClientLogin) => {
      const authentication = await clientAuth(as, settings, login);
      const send = (body: string, headers: Readonly<Record<string, string>>) =>
        exchangeForm({ body, headers }, { endpoint, dispatcher, turns, clock }, signal);
      return requestGrant({ settings, endpoint, authentication, secret: as.secret, send }, signal);
    };
    const secret = await readNow(signal);
    try {
      return await requestWith({ method, secret });
    } catch (error) {
      if (!isInvalidClient(error)) throw error;
      await takeTurn(signal);
      // It may have been rotated while the request was on its way.
      const newest = await readNow(signal);
      if (newest !== secret) return requestWith({ method, secret: newest });
      if (settings.clientAuthentication || method === 'client_secret_post') throw error;
      const fetched = await requestWith({ method: 'client_secret_post', secret });
      method = 'client_secret_post';
      return fetched;
    }
  }

  /** Token requests count in the rate of their interface. While the endpoint is held back no token can be obtained. */
  async function takeTurn(signal: AbortSignal): Promise<void> {
    try {
      await turns.take(endpoint.turn, signal);
    } catch (cause) {
      if (!(cause instanceof ConnectorError)) throw cause;
      const { message, fields, retryAfterMs: waitMs } = cause;
      throw new ConnectorError('TOKEN_FAILED', message, { cause, fields, retryAfterMs: waitMs });
    }
  }

  return async (signal) => {
    // Outside the deadline: waiting for our own rate limit is not a failure of the token endpoint.
    await takeTurn(signal);
    const late = () => endpoint.failed(`took longer than ${timeoutMs} ms`);
    const deadline = openDeadline(timeoutMs, systemClock, late, { outer: signal });
    // Tokens are rare: a connection of its own per request leaves nothing open between them.
    const dispatcher = openDispatcher(address, { ...options, ...(await options.files?.get()) }, 1);
    try {
      return await requestToken(dispatcher, deadline.signal);
    } finally {
      deadline.end();
      await dispatcher.destroy();
    }
  };
}
