import { ConnectorError } from '../../../errors.ts';
import { backOffMs } from '../../../support/back-off.ts';
import { untilAborted } from '../../../support/until-aborted.ts';
import { parseAddress } from '../address.ts';
import { type Authorization, type AuthorizationOptions, loginOf } from '../credentials.ts';
import { createTokenRequest, type OAuth2Settings } from './token-request.ts';

const LONGEST_MARGIN_MS = 30_000;
const MARGIN = 0.1;
const PAUSE = { initialMs: 1_000, maximumMs: 60_000 };

/**
 * Keeps an access token, and renews the token before it expires: 30 s before, or a tenth of its lifetime before if a
 * tenth is less than 30 s. Also renews a refused token. One token request runs at a time. After a failed request, a
 * pause follows: 1 s to 60 s, or longer if the endpoint requests a longer pause. In this pause, no token request is
 * sent. A valid token stays in use; without a valid token, callers get the last error.
 */
export function createHeldToken(
  settings: OAuth2Settings,
  options: AuthorizationOptions & { readonly marginMs?: ((lifetimeMs: number) => number) | undefined },
) {
  const { name, clock, random, log, observer, marginMs = usualMarginMs } = options;
  const address = parseAddress(settings.tokenUrl, `${loginOf(options)}.tokenUrl`, options.allowHttp);
  const requestToken = createTokenRequest(settings, address, options);
  let token: { readonly value: string; readonly renewAtMs: number; readonly expiresAtMs: number } | undefined;
  let failure: { readonly error: ConnectorError; readonly untilMs: number; readonly count: number } | undefined;

  const renew = shareRequest(async (signal) => {
    const askedAtMs = clock.monotonicMs();
    try {
      const { value, lifetimeMs } = await requestToken(signal);
      const expiresAtMs = askedAtMs + lifetimeMs;
      token = { value, expiresAtMs, renewAtMs: expiresAtMs - marginMs(lifetimeMs) };
    } catch (error) {
      if (!signal.aborted && error instanceof ConnectorError) failed(error);
      throw error;
    }
    failure = undefined;
    observer?.tokenAsked({ client: name, failed: false });
    log.debug({ client: name, lifetimeMs: Math.round(token.expiresAtMs - clock.monotonicMs()) }, 'token renewed');
    return token.value;
  });

  function failed(error: ConnectorError): void {
    const count = (failure?.count ?? 0) + 1;
    const pauseMs = Math.max(backOffMs(count, PAUSE, random), error.retryAfterMs ?? 0);
    failure = { error, count, untilMs: clock.monotonicMs() + pauseMs };
    observer?.tokenAsked({ client: name, failed: true });
    log.warn({ client: name, failures: count, pauseMs, ...error.fields }, 'the token request failed');
  }

  return {
    /** Rejects with the signal's reason, or with TOKEN_FAILED if no token is valid and the endpoint issues no token. */
    async get(signal: AbortSignal): Promise<string> {
      signal.throwIfAborted();
      const nowMs = clock.monotonicMs();
      const usable = token !== undefined && nowMs < token.expiresAtMs ? token : undefined;
      if (usable !== undefined && nowMs < usable.renewAtMs) return usable.value;
      if (failure !== undefined && nowMs < failure.untilMs) {
        if (usable !== undefined) return usable.value;
        throw paused(failure.error, failure.untilMs - nowMs, clock.wallMs());
      }
      try {
        return await renew(signal);
      } catch (error) {
        if (usable === undefined || usable !== token || signal.aborted) throw error;
        return usable.value;
      }
    },
    forget(value: string): void {
      if (token?.value === value) token = undefined;
    },
  };
}

function usualMarginMs(lifetimeMs: number): number {
  return Math.min(LONGEST_MARGIN_MS, lifetimeMs * MARGIN);
}

function paused(last: ConnectorError, waitMs: number, nowMs: number): ConnectorError {
  const { message, cause, fields } = last;
  const text = `${message} No token is requested before ${new Date(nowMs + waitMs).toISOString()}.`;
  return new ConnectorError('TOKEN_FAILED', text, { cause, retryAfterMs: waitMs, fields });
}

// Callers that wait at the same time share one request. If the signal of a caller aborts, the other callers still get
// the result. When no caller waits any more, the request is aborted.
function shareRequest<T>(send: (signal: AbortSignal) => Promise<T>): (signal: AbortSignal) => Promise<T> {
  let current: { readonly result: Promise<T>; readonly controller: AbortController; waiting: number } | undefined;

  function start() {
    const controller = new AbortController();
    const started = { result: send(controller.signal), controller, waiting: 0 };
    const clear = () => {
      if (current === started) current = undefined;
    };
    started.result.then(clear, clear);
    return started;
  }

  return async (signal) => {
    current ??= start();
    const joined = current;
    joined.waiting += 1;
    try {
      return await untilAborted(joined.result, signal);
    } finally {
      joined.waiting -= 1;
      if (joined.waiting === 0) {
        if (current === joined) current = undefined;
        joined.controller.abort(new Error('no caller waits for the token any more'));
      }
    }
  };
}

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
