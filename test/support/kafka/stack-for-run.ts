import type { BrokerSettings } from '../../../src/dev/local-stack/broker-settings.ts';
import { kafkaJars, registryFiles, registryFor } from '../../../src/dev/local-stack/java-artifacts.ts';
import { usableJava } from '../../../src/dev/local-stack/java-runtime.ts';
import { startKafka } from '../../../src/dev/local-stack/kafka-cluster.ts';
import { startLocalStack } from '../../../src/dev/local-stack/local-stack.ts';
import { startRegistry } from '../../../src/dev/local-stack/registry.ts';
import type { StackContext } from '../../../src/dev/local-stack/stack-context.ts';
import { startTogether } from '../../../src/dev/local-stack/stack-context.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { systemClock } from '../../../src/support/clock.ts';
import type { Tally } from '../runner/reporter-tally.ts';
import { PATIENT_BROKER } from './patient-broker.ts';
import { STACK_MISSING } from './stack-missing.ts';

/** The coordinators of groups and transactions are different brokers, and mostly others than a partition's leader. */
const SPREAD_COORDINATORS: BrokerSettings = {
  'offsets.topic.num.partitions': '3',
  'transaction.state.log.num.partitions': '3',
};

/**
 * Starts the stack and names it in the environment, which the test processes inherit. Never rejects: what goes wrong is in
 * the tally and in the environment.
 *
 * @param nodes how many brokers; more than one need Java and Maven.
 */
export function startStackForRun(tally: Tally, signal: AbortSignal, nodes: number) {
  const onProgress = (line: string) => process.stdout.write(`  stack: ${line}\n`);
  const context: StackContext = { env: { ...process.env }, clock: systemClock, onProgress, signal };
  const starting =
    nodes > 1 ? startCluster(context, nodes) : startLocalStack({ ...context, brokerSettings: PATIENT_BROKER });
  const started = starting.then(
    (stack) => {
      process.env.KAFKA_BROKERS = stack.brokers.join(',');
      process.env.SCHEMA_REGISTRY_URL = stack.registryUrl;
    },
    (error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      process.env[STACK_MISSING] = reason;
      if (process.env.CI) tally.fail(`stack: ${reason}`);
      else tally.warn(`Every test that needs Kafka. ${reason}`);
    },
  );
  const stop = async () => {
    await started;
    await starting.then(
      (stack) => stack.stop(),
      () => undefined,
    );
  };
  return { started, stop };
}

/** Several brokers and a registry. */
async function startCluster(context: StackContext, nodes: number) {
  const java = await usableJava(context.env);
  const release = registryFor(java.version);
  if (!release) throw new ConnectorError('STACK_UNAVAILABLE', `No registry runs on Java ${java.version}`);
  // One after the other and before anything runs, as for one broker.
  await kafkaJars(context);
  await registryFiles(context, release);
  context.onProgress(`Starting Kafka, ${nodes} brokers, and Apicurio Registry ${release.version}.`);
  const settings = { ...PATIENT_BROKER, ...SPREAD_COORDINATORS };
  const [kafka, registry] = await startTogether([
    () => startKafka({ ...context, java, nodes, settings }),
    () => startRegistry({ ...context, java, release }),
  ]);
  const stop = async () => {
    await Promise.all([kafka.stop(), registry.stop()]);
  };
  return { brokers: kafka.brokers, registryUrl: registry.registryUrl, stop };
}
