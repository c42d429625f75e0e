import type { KafkaSettings, Settings } from '../config/settings.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import { connectKafka, type KafkajsOptions } from '../kafka/kafkajs/kafkajs-cluster.ts';

/** Kafka as the settings want it. One per process. */
export async function createKafkaCluster(
  settings: Pick<Settings, 'prefix' | 'kafka'>,
  options: Pick<KafkajsOptions, 'clock' | 'random' | 'log' | 'wrap'>,
): Promise<KafkaCluster> {
  const { brokers, compression, transactionTimeoutMs, sessionTimeoutMs, ssl, sasl } = settings.kafka;
  return connectKafka({
    ...options,
    brokers,
    clientId: settings.prefix,
    compression,
    tuning: { transactionTimeoutMs, groupSessionTimeoutMs: sessionTimeoutMs },
    ...(ssl && { ssl: await tlsOptions(ssl) }),
    ...(sasl && { sasl: await saslOptions(sasl) }),
  });
}

async function tlsOptions(files: NonNullable<KafkaSettings['ssl']>): Promise<NonNullable<KafkajsOptions['ssl']>> {
  // Not even the environment can switch it off.
  const options = { rejectUnauthorized: true };
  for (const name of ['ca', 'cert', 'key'] as const) {
    const read = files[name];
    if (read) Object.defineProperty(options, name, { get: await lastRead(read), enumerable: true });
  }
  return options;
}

async function saslOptions(sasl: NonNullable<KafkaSettings['sasl']>): Promise<NonNullable<KafkajsOptions['sasl']>> {
  const { mechanism, username } = sasl;
  const password = await lastRead(sasl.password);
  return {
    mechanism,
    username,
    get password() {
      return password();
    },
  };
}

/**
 * For kafkajs, which looks at these values whenever it connects and cannot wait for a file: it gets the one that was read
 * last, and each look has the file read again. So after a rotation one attempt fails at most, and the next has the new.
 */
async function lastRead(read: () => Promise<string>): Promise<() => string> {
  let newest = await read();
  return () => {
    read().then(
      (value) => {
        newest = value;
      },
      () => {},
    );
    return newest;
  };
}
