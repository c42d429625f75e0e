import { join } from 'node:path';
import { ConnectorError } from '../errors.ts';
import { kafkaJars, registryFiles, registryFor } from './java-artifacts.ts';
import { usableJava } from './java-runtime.ts';
import { startKafka } from './kafka-cluster.ts';
import { startRegistry } from './registry.ts';
import type { LocalStack, StackOptions } from './stack-context.ts';
import { startTogether } from './start-together.ts';

/**
 * Starts one broker and a registry from their Maven artifacts, on the newest Java of this machine.
 *
 * @throws ConnectorError STACK_UNAVAILABLE with the reason in one line.
 */
export async function startJavaStack(options: StackOptions): Promise<LocalStack> {
  const { dataFolder, brokerSettings } = options;
  const java = await usableJava(options.env);
  const release = registryFor(java.version);
  if (!release) throw new ConnectorError('STACK_UNAVAILABLE', `No registry runs on Java ${java.version}`);
  // One after the other and before anything runs: two Mavens at once would quarrel over one local repository.
  await kafkaJars(options);
  await registryFiles(options, release);
  options.onProgress(`Starting Kafka and Apicurio Registry ${release.version} on Java ${java.version}.`);

  const [kafka, registry] = await startTogether([
    () =>
      startKafka({
        ...options,
        java,
        ...(brokerSettings && { settings: brokerSettings }),
        ...(dataFolder && { dataFolder: join(dataFolder, 'kafka') }),
      }),
    () => startRegistry({ ...options, java, release, ...(dataFolder && { dataFolder: join(dataFolder, 'registry') }) }),
  ]);
  return {
    brokers: kafka.brokers,
    registryUrl: registry.registryUrl,
    how: 'java',
    stop: async () => {
      await Promise.all([kafka.stop(), registry.stop()]);
    },
  };
}
