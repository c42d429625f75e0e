import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import type { HttpObserver } from '../support/http-observer.ts';
import type { Log } from '../support/log.ts';
import type { NetworkOptions } from './dispatcher.ts';
import type { RequestTurns } from './request-turns.ts';

/** Header fields that authorise a request; their values are secrets. */
export type Credentials = Readonly<Record<string, string>>;

/** Gives and renews credentials. They are only ever sent to the origin of the client that asks for them. */
export interface Authorization {
  /** Rejects with TOKEN_FAILED when no credentials can be obtained, or with the signal's reason. */
  headers(signal: AbortSignal): Promise<Credentials>;
  /**
   * Called after a 401. Resolves with credentials worth one more try, or with null when they would be the refused ones
   * again. A token that another caller has renewed meanwhile is not renewed once more.
   */
  renew(refused: Credentials, signal: AbortSignal): Promise<Credentials | null>;
}

export interface AuthorizationOptions extends NetworkOptions {
  /** What messages call the settings of the login; `<name>.auth` by default. */
  readonly login?: string | undefined;
  /** Plain http beyond loopback for the token address. */
  readonly allowHttp: boolean;
  /** Of the interface that the tokens are for. */
  readonly turns: RequestTurns;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly observer?: HttpObserver | undefined;
}
