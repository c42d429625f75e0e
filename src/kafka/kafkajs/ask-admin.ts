import type { Admin, Kafka } from 'kafkajs';
import { ConnectorError } from '../../errors.ts';
import { kafkaReason } from './kafkajs-errors.ts';
import { type KafkaTuning, kafkajsRetry } from './tuning.ts';

/** A request to the brokers through an admin client of its own; its errors reach the caller. */
export async function askAdmin<Found>(
  { kafka, tuning }: { readonly kafka: Kafka; readonly tuning: KafkaTuning },
  ask: (admin: Admin) => Promise<Found>,
): Promise<Found> {
  const admin = kafka.admin({ retry: kafkajsRetry(tuning) });
  try {
    await admin.connect();
    return await ask(admin);
  } finally {
    // Not earlier: a client that is disconnected while it connects stays connected.
    admin.disconnect().catch(() => {});
  }
}

/** The cluster's own id; see `KafkaCluster.clusterId`. */
export async function fetchClusterId(client: Parameters<typeof askAdmin>[0]): Promise<string> {
  try {
    return (await askAdmin(client, (admin) => admin.describeCluster())).clusterId;
  } catch (cause) {
    const text = `The cluster could not be described (${kafkaReason(cause)}).`;
    throw new ConnectorError('KAFKA_UNREACHABLE', text, { cause });
  }
}
