// Stands in for the Kafka UI: calls what its variables name as the UI does, and answers two of its paths.

import { connect } from 'node:net';
import { answering } from './answering.ts';

const TIMEOUT_MS = 3_000;

function variable(name: string): string {
  const value = process.env[`KAFKA_CLUSTERS_0_${name}`];
  if (!value) throw new Error(`KAFKA_CLUSTERS_0_${name} is not set`);
  return value;
}

async function json(url: string): Promise<object> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`${url} answers ${answer.status}`);
  return (await answer.json()) as object;
}

function brokerListens(): Promise<void> {
  const [host = '', port = ''] = variable('BOOTSTRAPSERVERS').split(':');
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host, port: Number(port), timeout: TIMEOUT_MS }, resolve);
  socket.once('error', reject).once('timeout', () => reject(new Error(`${host}:${port} does not answer`)));
  return promise.finally(() => socket.destroy());
}

const connectors = () => json(`${variable('KAFKACONNECT_0_ADDRESS')}/connectors?expand=status`);
const connectName = encodeURIComponent(process.env.KAFKA_CLUSTERS_0_KAFKACONNECT_0_NAME ?? '');
const clusterName = encodeURIComponent(process.env.KAFKA_CLUSTERS_0_NAME ?? '');

answering(8080, {
  '/actuator/health': async () => {
    await Promise.all([connectors(), json(`${variable('SCHEMAREGISTRY')}/subjects`), brokerListens()]);
    return { status: 'UP' };
  },
  [`/api/clusters/${clusterName}/connects/${connectName}/connectors`]: async () => Object.keys(await connectors()),
  [`/api/clusters/${clusterName}/connectors`]: async () => Object.values(await connectors()),
});
