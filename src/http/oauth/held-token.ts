import { ConnectorError } from '../../errors.ts';
import { backOffMs } from '../../support/back-off.ts';
import { parseAddress } from '../address.ts';
import type { AuthorizationOptions } from '../credentials.ts';
import type { OAuth2Settings } from './oauth2-settings.ts';
import { shareRequest } from './shared-request.ts';
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

interface Failure {
  readonly error: ConnectorError;
  readonly untilMs: number;
  readonly count: number;
}

/** One token for all callers, renewed before it expires. */
export interface HeldToken {
  /** Rejects with TOKEN_FAILED when there is none and none can be obtained, or with the signal's reason. */
  get(signal: AbortSignal): Promise<string>;
  /** This token was refused: it is not given out again. */
  forget(value: string): void;
}

/**
 * The token is renewed shortly before it expires (30 s, or a tenth of its life where that is less, unless the options say
 * otherwise), or once it was refused; at most one request for a token is under way. While the token endpoint fails, a
 * token that has not expired stays in use; without one, callers get the last error at once until the pause (1 s to 60 s,
 * or longer where the endpoint asks for it) is over.
 */
export function createHeldToken(settings: OAuth2Settings, options: HeldTokenOptions): HeldToken {
  const { name, login = `${name}.auth`, clock, random, log, observer, marginMs = usualMarginMs } = options;
  const address = parseAddress(settings.tokenUrl, `${login}.tokenUrl`, options.allowHttp);
  const requestToken = createTokenRequest(settings, address, options);
  let token: Token | undefined;
  let failure: Failure | undefined;

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
    observer?.tokenAsked({ client: name, outcome: 'renewed' });
    log.debug({ client: name, lifetimeMs: Math.round(token.expiresAtMs - clock.monotonicMs()) }, 'token renewed');
    return token.value;
  });

  function failed(error: ConnectorError): void {
    const count = (failure?.count ?? 0) + 1;
    const pauseMs = Math.max(backOffMs(count, PAUSE, random), error.retryAfterMs ?? 0);
    failure = { error, count, untilMs: clock.monotonicMs() + pauseMs };
    observer?.tokenAsked({ client: name, outcome: 'failed' });
    log.warn({ client: name, failures: count, pauseMs, ...error.fields }, 'the token request failed');
  }

  return {
    async get(signal) {
      signal.throwIfAborted();
      const nowMs = clock.monotonicMs();
      const usable = token !== undefined && nowMs < token.expiresAtMs ? token : undefined;
      if (usable !== undefined && nowMs < usable.renewAtMs) return usable.value;
      if (failure !== undefined && nowMs < failure.untilMs) {
        if (usable !== undefined) return usable.value;
        throw paused(failure.error, failure.untilMs - nowMs);
      }
      try {
        return await renew(signal);
      } catch (error) {
        if (usable === undefined || usable !== token || signal.aborted) throw error;
        return usable.value;
      }
    },
    forget(value) {
      if (token?.value === value) token = undefined;
    },
  };
}

export interface HeldTokenOptions extends AuthorizationOptions {
  /** How long before its end a token with this life is renewed. */
  readonly marginMs?: ((lifetimeMs: number) => number) | undefined;
}

function usualMarginMs(lifetimeMs: number): number {
  return Math.min(LONGEST_MARGIN_MS, lifetimeMs * MARGIN);
}

function paused(last: ConnectorError, waitMs: number): ConnectorError {
  return new ConnectorError('TOKEN_FAILED', last.message, { cause: last, retryAfterMs: waitMs, fields: last.fields });
}
