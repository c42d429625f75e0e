import type { KafkaSettings, Settings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import { connectKafka, type KafkajsOptions } from '../kafka/kafkajs/kafkajs-cluster.ts';
import { type BrokerTokens, oauthbearer } from '../kafka/kafkajs/oauthbearer.ts';
import { readSecret } from '../provider/http/credentials.ts';
import { openCurrentFiles } from '../provider/http/current-files.ts';
import { secureContextOf } from '../provider/http/dispatcher.ts';
import { createEndpointGates } from '../provider/http/endpoint-gates.ts';
import { createHeldToken } from '../provider/http/oauth/held-token.ts';
import { createRequestTurns } from '../provider/http/request-turns.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import type { HttpObserver } from '../support/http-observer.ts';
import type { Log } from '../support/log.ts';
import { networkFiles, readFiles } from './network-files.ts';

/** Shorter than the connection timeout of kafkajs. */
const TOKEN_TIMEOUT_MS = 8_000;

const TOKEN_REQUESTS_PER_SECOND = 5;

/**
 * A token is renewed when a fifth of its lifetime is left. kafkajs logs in again later, when less of the session is
 * left. So each login has a newer token, and sessions do not become shorter.
 */
const MARGIN = 0.2;

/** The margin of short-lived tokens. Brokers accept one login a second, so a session must be longer than a second. */
const SHORT_MARGIN_MS = 3_000;

/** If a token younger than this is refused, no new token is requested: the brokers will refuse a new token too. */
const YOUNG_MS = 5_000;

const NAME = 'kafka.sasl';

type Deps = Pick<KafkajsOptions, 'clock' | 'random' | 'log' | 'wrap'> & { readonly observer?: HttpObserver };

export async function createKafkaCluster(
  settings: Pick<Settings, 'prefix' | 'kafka'>,
  options: Deps,
): Promise<KafkaCluster> {
  const { brokers, compression, transactionTimeoutMs, sessionTimeoutMs } = settings.kafka;
  const { clock, random, log, wrap, observer } = options;
  const closing = new AbortController();
  const tls = await tlsOptions(settings.kafka, options);
  const login = await loginOptions(settings.kafka, options, closing.signal);
  const cluster = connectKafka({
    clock,
    random,
    log,
    ...(wrap && { wrap }),
    clockSeen: (aheadMs) => observer?.clockSeen({ clock: 'kafka', aheadMs }),
    brokers,
    clientId: settings.prefix,
    compression,
    tuning: { transactionTimeoutMs, groupSessionTimeoutMs: sessionTimeoutMs },
    ...tls?.options,
    ...login?.options,
    async refreshLogin() {
      await Promise.all([tls?.refresh(), login?.refresh()]);
    },
  });
  return {
    ...cluster,
    async close() {
      closing.abort(new Error('Kafka is closed'));
      await cluster.close();
    },
  };
}

/**
 * Options for kafkajs from files that may change. kafkajs reads the options at each connection and cannot wait for a
 * file. So kafkajs gets the content that was read last, and each access starts a new reading. A new client waits for
 * `refresh`. After a change, one reconnection may fail, because the reconnection gets the earlier content.
 */
interface Refreshed<Options> {
  readonly options: Options;
  refresh(): Promise<void>;
}

async function tlsOptions(
  { ssl }: KafkaSettings,
  { clock, log }: Deps,
): Promise<Refreshed<Pick<KafkajsOptions, 'ssl'>> | undefined> {
  if (ssl === null) return undefined;
  const name = 'kafka.ssl';
  const contexts = await openCurrentFiles({
    name,
    read: () => readFiles(ssl),
    make: (files) => secureContextOf({ name, ...files }, 'only'),
    clock,
    log,
  });
  return {
    options: {
      ssl: {
        // Without this line, an environment variable could switch off the verification of the broker.
        rejectUnauthorized: true,
        get secureContext() {
          return contexts.latest().secureContext;
        },
      },
    },
    async refresh() {
      await contexts.get();
    },
  };
}

async function loginOptions(
  { sasl }: KafkaSettings,
  deps: Deps,
  closed: AbortSignal,
): Promise<Refreshed<Pick<KafkajsOptions, 'sasl'>> | undefined> {
  if (sasl === null) return undefined;
  if (sasl.mechanism === 'oauthbearer') {
    const tokens = await brokerTokens(sasl, deps, closed);
    const extensions = sasl.extensions ?? {};
    return { options: { sasl: oauthbearer(tokens, { extensions, clock: deps.clock }) }, async refresh() {} };
  }
  const { mechanism, username, password } = sasl;
  const read = async () => (await password?.()) ?? '';
  let newest = await read();
  const refresh = async () => {
    newest = await read();
  };
  // The compiler accepts no union of mechanisms here, because their options differ.
  const options = {
    mechanism: mechanism as 'plain',
    username: username ?? '',
    get password() {
      refresh().catch(() => {});
      return newest;
    },
  };
  return { options: { sasl: options }, refresh };
}

/** The tokens for the brokers: from a token endpoint, or from a file that is read for each login. */
async function brokerTokens(
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
