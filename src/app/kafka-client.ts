import type { Settings } from '../config/settings.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import { connectKafka, type KafkaOptions } from '../kafka/kafkajs-cluster.ts';

/** Kafka as the settings want it. One per process. */
export async function createKafkaCluster(
  settings: Pick<Settings, 'prefix' | 'kafka'>,
  options: Pick<KafkaOptions, 'clock' | 'random' | 'log' | 'wrap'>,
): Promise<KafkaCluster> {
  const { brokers, compression, transactionTimeoutMs, ssl, sasl } = settings.kafka;
  return connectKafka({
    ...options,
    brokers,
    clientId: settings.prefix,
    compression,
    tuning: { transactionTimeoutMs },
    ...(ssl && {
      ssl: { ...(await pem('ca', ssl.ca)), ...(await pem('cert', ssl.cert)), ...(await pem('key', ssl.key)) },
    }),
    ...(sasl && {
      sasl: { mechanism: sasl.mechanism, username: sasl.username, password: await sasl.password() },
    }),
  });
}

async function pem(name: 'ca' | 'cert' | 'key', read: (() => Promise<string>) | null): Promise<Record<string, string>> {
  return read === null ? {} : { [name]: await read() };
}
