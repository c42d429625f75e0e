import type { KafkaSettings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import { createEndpointGates } from '../http/endpoint-gates.ts';
import { createHeldToken } from '../http/oauth/held-token.ts';
import { createRequestTurns } from '../http/request-turns.ts';
import { readSecret } from '../http/secret.ts';
import type { BrokerTokens } from '../kafka/kafkajs/login/oauthbearer.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import type { HttpObserver } from '../support/http-observer.ts';
import type { Log } from '../support/log.ts';
import { networkFiles } from './network-files.ts';

/** Less than kafkajs waits for a connection to be opened. */
const TOKEN_TIMEOUT_MS = 8_000;
const TOKEN_REQUESTS_PER_SECOND = 5;
/**
 * A token is renewed when a fifth of its life is left. A connection logs in again when less than that is left of its
 * session, so it always gets a newer token, and the session never shrinks to nothing. Of a token that lives for seconds
 * more is left: a session of about a second would end before the next login, which brokers take once a second.
 */
const MARGIN = 0.2;
const SHORT_MARGIN_MS = 3_000;
/** A token that was refused when it was this young is no reason to ask for another: the brokers will refuse that one too. */
const YOUNG_MS = 5_000;

const NAME = 'kafka.sasl';

/** The tokens for the brokers, as the settings want it: from a token endpoint, or from a file that is read each time. */
export async function brokerTokens(
  sasl: NonNullable<KafkaSettings['sasl']>,
  deps: { readonly clock: Clock; readonly random: Random; readonly log: Log; readonly observer?: HttpObserver },
  closed: AbortSignal,
): Promise<BrokerTokens> {
  const { token, tokenUrl, clientId } = sasl;
  if (token !== null) return { get: () => readSecret(token, `${NAME}.token`), refused() {} };
  if (tokenUrl === null || clientId === null) throw new ConnectorError('SETTINGS_INVALID', `${NAME} has no token.`);
  const { clock, random, log } = deps;
  const gates = createEndpointGates({ clock, random });
  const held = createHeldToken(
    { ...sasl, type: 'oauth2', tokenUrl, clientId },
    {
      ...deps,
      name: NAME,
      login: NAME,
      allowHttp: sasl.allowWithoutTls,
      timeoutMs: TOKEN_TIMEOUT_MS,
      files: await networkFiles(NAME, sasl, deps),
      noProxy: sasl.noProxy ?? [],
      turns: createRequestTurns({ name: NAME, requestsPerSecond: TOKEN_REQUESTS_PER_SECOND, gates, clock, log }),
      marginMs: (lifetimeMs) => Math.max(lifetimeMs * MARGIN, Math.min(SHORT_MARGIN_MS, lifetimeMs / 2)),
    },
  );
  let newest = { value: '', sinceMs: 0 };
  return {
    async get() {
      const value = await held.get(closed);
      if (value !== newest.value) newest = { value, sinceMs: clock.monotonicMs() };
      return value;
    },
    refused(value) {
      if (value === newest.value && clock.monotonicMs() - newest.sinceMs < YOUNG_MS) return;
      held.forget(value);
    },
  };
}
