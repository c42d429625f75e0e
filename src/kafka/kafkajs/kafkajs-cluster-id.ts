import type { Kafka } from 'kafkajs';
import { ConnectorError } from '../../errors.ts';
import { kafkaReason } from './kafkajs-errors.ts';
import { type KafkaTuning, kafkajsRetry } from './tuning.ts';

/** The cluster's own id; see `KafkaCluster.clusterId`. */
export async function fetchClusterId({ kafka, tuning }: { kafka: Kafka; tuning: KafkaTuning }): Promise<string> {
  const admin = kafka.admin({ retry: kafkajsRetry(tuning) });
  try {
    await admin.connect();
    return (await admin.describeCluster()).clusterId;
  } catch (cause) {
    throw new ConnectorError('KAFKA_UNREACHABLE', `The cluster could not be described (${kafkaReason(cause)}).`, {
      cause,
    });
  } finally {
    admin.disconnect().catch(() => {});
  }
}
