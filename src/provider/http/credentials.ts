import { ConnectorError } from '../../errors.ts';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import { CONTENT_PROBLEMS } from '../../support/connection-contents.ts';
import type { HttpObserver } from '../../support/http-observer.ts';
import type { Log } from '../../support/log.ts';
import type { NetworkOptions } from './dispatcher.ts';
import type { RequestTurns } from './request-turns.ts';

/** Header fields that authorise a request; their values are secrets. */
export type Credentials = Readonly<Record<string, string>>;

/** Gives and renews the credentials of one client. The client sends them only to the origin of its own address. */
export interface Authorization {
  /** Rejects with TOKEN_FAILED if no credentials can be obtained, or with the signal's reason. */
  headers(signal: AbortSignal): Promise<Credentials>;
  /**
   * Called after a 401. Resolves with credentials for one more attempt, or with null if the credentials have not
   * changed. A token that another caller has already renewed is not renewed again.
   */
  renew(refused: Credentials, signal: AbortSignal): Promise<Credentials | null>;
}

export interface AuthorizationOptions extends NetworkOptions {
  /** The name of the settings group that has the login; by default `<name>.auth`. */
  readonly login?: string | undefined;
  /** True: the token address may use plain http, even to another machine. */
  readonly allowHttp: boolean;
  readonly turns: RequestTurns;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly observer?: HttpObserver | undefined;
}

export function loginOf({ name, login = `${name}.auth` }: Pick<AuthorizationOptions, 'name' | 'login'>): string {
  return login;
}

/** Reads a secret's current value; called at each use, so that a rotated file takes effect without a restart. */
export type SecretSource = () => Promise<string>;

/**
 * Returns the secret's current value. Throws TOKEN_FAILED if the value cannot be read or sent. Callers retry after this
 * error, because the secret's file is perhaps being replaced at this moment.
 * @param setting the secret's name in messages, such as `referenceData.auth.token`
 */
export async function readSecret(secret: SecretSource, setting: string): Promise<string> {
  const value = await readEncodedSecret(secret, setting);
  const problem = CONTENT_PROBLEMS.header(value);
  if (problem !== null) throw new ConnectorError('TOKEN_FAILED', `${setting} ${problem}.`);
  return value;
}

/** Like `readSecret`, for a secret that is encoded before it is sent and can contain any characters. */
export async function readEncodedSecret(secret: SecretSource, setting: string): Promise<string> {
  let value: string;
  try {
    value = await secret();
  } catch (cause) {
    throw new ConnectorError('TOKEN_FAILED', `${setting} cannot be read.`, { cause });
  }
  if (value === '') throw new ConnectorError('TOKEN_FAILED', `${setting} is empty.`);
  return value;
}
