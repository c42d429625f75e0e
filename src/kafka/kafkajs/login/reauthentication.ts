/*
 * Patch J: when a connection logs in again (KIP-368). A broker names the life of a session at each login, and closes a
 * connection that is used afterwards. The original logs in again 10 s before the end: with a session of 10 s or less,
 * before every request. But a broker refuses two logins of a connection within a second, so that such connections fail all
 * the time. Here a connection logs in again when most of its session has passed, and never twice within a second.
 */

/** The parts of a connection of kafkajs that decide it; `sessionLifetime` is a Long in milliseconds, 0 for no end. */
interface Connection {
  readonly authenticatedAt: [number, number] | null;
  readonly sessionLifetime: { toString(): string };
}

export type ShouldReauthenticate = (this: Connection) => boolean;

/** What is left must be enough for a token that is renewed before it (setup/broker-tokens.ts), and for a login. */
const SHARE_OF_SESSION = 0.85;
const SHORTEST_MS = 1_100;

/** The name of the symbol under which kafkajs keeps the function. */
export const SHOULD_REAUTHENTICATE = 'private:Connection:shouldReauthenticate';

export const shouldReauthenticate: ShouldReauthenticate = function () {
  const lifetimeMs = Number(this.sessionLifetime.toString());
  if (lifetimeMs === 0) return false;
  if (this.authenticatedAt === null) return true;
  const [seconds, nanoseconds] = process.hrtime(this.authenticatedAt);
  return seconds * 1_000 + nanoseconds / 1e6 >= Math.max(SHORTEST_MS, lifetimeMs * SHARE_OF_SESSION);
};
