import { startLocalStack } from '../../../src/local-stack/local-stack.ts';
import { systemClock } from '../../../src/support/clock.ts';
import type { Tally } from '../runner/reporter-tally.ts';
import { PATIENT_BROKER } from './patient-broker.ts';
import { STACK_MISSING } from './stack-missing.ts';

/** The stack of a whole run. Never rejects: what goes wrong is in the tally and in the environment of the tests. */
export interface StackForRun {
  readonly started: Promise<void>;
  stop(): Promise<void>;
}

/** Starts the stack and names it in the environment, which the test processes inherit. */
export function startStackForRun(tally: Tally, signal: AbortSignal): StackForRun {
  const onProgress = (line: string) => process.stdout.write(`  stack: ${line}\n`);
  const starting = startLocalStack({
    env: { ...process.env },
    clock: systemClock,
    onProgress,
    signal,
    brokerSettings: PATIENT_BROKER,
  });
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
