import type { KafkaSettings, Settings } from '../config/settings.ts';
import { openCurrentFiles } from '../http/current-files.ts';
import { secureContextOf } from '../http/dispatcher.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import { connectKafka, type KafkajsOptions } from '../kafka/kafkajs/kafkajs-cluster.ts';
import { oauthbearer } from '../kafka/kafkajs/login/oauthbearer.ts';
import type { HttpObserver } from '../support/http-observer.ts';
import { brokerTokens } from './broker-tokens.ts';
import { readFiles } from './network-files.ts';

type Deps = Pick<KafkajsOptions, 'clock' | 'random' | 'log' | 'wrap'> & { readonly observer?: HttpObserver };

/** Kafka as the settings want it. One per process. */
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
 * For kafkajs, which looks at its options whenever it connects and cannot wait for a file: it gets what was read last, and
 * each look has the file read again. A new client waits for a refresh; a connection that is opened again may fail once.
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
        // Not even the environment can switch it off.
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
  // The compiler takes no union of mechanisms where each has an option of its own.
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
