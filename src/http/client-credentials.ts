import { ConnectorError } from '../errors.ts';
import { backOffMs } from '../support/back-off.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { parseAddress } from './address.ts';
import type { Authorization, AuthorizationOptions, Credentials } from './credentials.ts';
import type { OAuth2Settings } from './token-request.ts';
import { createTokenRequest } from './token-request.ts';

const LONGEST_MARGIN_MS = 30_000;
const MARGIN = 0.1;
// After a failure no request goes to the token endpoint for a while, however many callers ask.
const PAUSE = { initialMs: 1_000, maximumMs: 60_000 };

/** A token and its times on the monotonic clock, so that a jump of the wall clock neither keeps nor wastes it. */
interface Token {
  readonly value: string;
  readonly renewAtMs: number;
  readonly expiresAtMs: number;
}

interface Refresh {
  readonly token: Promise<Token>;
  readonly controller: AbortController;
  waiting: number;
}

/**
 * Holds one token for all callers. It is renewed shortly before it expires (30 s, or a tenth of its life where that is
 * less), or once it was refused; at most one request for a token is under way. A caller that stops waiting does not
 * disturb the others; when no caller waits any more the request is cut. While the token endpoint fails, a token that
 * has not expired stays in use; without one, callers get the last error at once until the pause (1 s to 60 s, or longer
 * where the endpoint asks for it) is over.
 */
export function createClientCredentials(settings: OAuth2Settings, options: AuthorizationOptions): Authorization {
  const { name, clock, random, log, observer } = options;
  const address = parseAddress(settings.tokenUrl, `${name}.auth.tokenUrl`, options.allowHttp);
  const requestToken = createTokenRequest(settings, address, options);
  let token: Token | undefined;
  let refresh: Refresh | undefined;
  let failure: { readonly error: ConnectorError; readonly untilMs: number; readonly count: number } | undefined;

  async function fetchToken(signal: AbortSignal): Promise<Token> {
    const askedAtMs = clock.monotonicMs();
    const { value, lifetimeMs } = await requestToken(signal);
    const expiresAtMs = askedAtMs + lifetimeMs;
    return { value, expiresAtMs, renewAtMs: expiresAtMs - Math.min(LONGEST_MARGIN_MS, lifetimeMs * MARGIN) };
  }

  function startRefresh(): Refresh {
    const controller = new AbortController();
    const started: Refresh = { token: fetchToken(controller.signal), controller, waiting: 0 };
    started.token.then(
      (fetched) => {
        if (refresh === started) refresh = undefined;
        token = fetched;
        failure = undefined;
        observer?.tokenAsked({ client: name, outcome: 'renewed' });
        log.debug({ client: name, lifetimeMs: Math.round(fetched.expiresAtMs - clock.monotonicMs()) }, 'token renewed');
      },
      (error) => {
        if (refresh === started) refresh = undefined;
        if (!controller.signal.aborted) failed(error);
      },
    );
    return started;
  }

  function failed(error: ConnectorError): void {
    const count = (failure?.count ?? 0) + 1;
    const pauseMs = Math.max(backOffMs(count, PAUSE, random), error.retryAfterMs ?? 0);
    failure = { error, count, untilMs: clock.monotonicMs() + pauseMs };
    observer?.tokenAsked({ client: name, outcome: 'failed' });
    log.warn({ client: name, failures: count, pauseMs, ...error.fields }, 'the token request failed');
  }

  async function join(signal: AbortSignal): Promise<Token> {
    refresh ??= startRefresh();
    const joined = refresh;
    joined.waiting += 1;
    try {
      return await untilAborted(joined.token, signal);
    } finally {
      joined.waiting -= 1;
      if (joined.waiting === 0) {
        if (refresh === joined) refresh = undefined;
        joined.controller.abort(new Error('no caller waits for the token any more'));
      }
    }
  }

  async function headers(signal: AbortSignal): Promise<Credentials> {
    signal.throwIfAborted();
    const nowMs = clock.monotonicMs();
    const usable = token !== undefined && nowMs < token.expiresAtMs ? token : undefined;
    if (usable !== undefined && nowMs < usable.renewAtMs) return bearer(usable);
    if (failure !== undefined && nowMs < failure.untilMs) {
      if (usable !== undefined) return bearer(usable);
      throw paused(failure.error, failure.untilMs - nowMs);
    }
    try {
      return bearer(await join(signal));
    } catch (error) {
      if (usable === undefined || usable !== token || signal.aborted) throw error;
      return bearer(usable);
    }
  }

  return {
    headers,
    async renew(refused, signal) {
      if (token !== undefined && bearer(token).authorization === refused.authorization) token = undefined;
      return headers(signal);
    },
  };
}

function bearer(token: Token): { readonly authorization: string } {
  return { authorization: `Bearer ${token.value}` };
}

function paused(last: ConnectorError, waitMs: number): ConnectorError {
  return new ConnectorError('TOKEN_FAILED', last.message, { cause: last, retryAfterMs: waitMs, fields: last.fields });
}
