import { randomUUID } from 'node:crypto';
import { after, type TestContext } from 'node:test';
import { type LocalKafka, type LocalKafkaOptions, startKafka } from '../../../src/dev/local-stack/kafka-cluster.ts';
import { startLocalStack } from '../../../src/dev/local-stack/local-stack.ts';
import type { LocalStack, StackContext } from '../../../src/dev/local-stack/stack-context.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { STACK_MISSING } from './stack-missing.ts';

/** Where the Kafka and the schema registry for tests answer. */
export interface TestStack {
  readonly brokers: string[];
  /** The base URL of Confluent's API, its path included. */
  readonly registryUrl: string;
}

// One stack for a file: the first test that asks starts it, unless the runner has done so and the environment names it.
let stack: Promise<LocalStack> | undefined;
after(async () => {
  await (await stack?.catch(() => undefined))?.stop();
});

/**
 * The stack, or undefined when there is none and this test is skipped, with the reason:
 * `const stack = await stackOrSkip(t); if (!stack) return;`. With CI set, a missing stack fails the test.
 */
export async function stackOrSkip(t: TestContext): Promise<TestStack | undefined> {
  return orSkip(t, () => {
    stack ??= startLocalStack(testContext());
    return stack;
  });
}

/**
 * A Kafka of the test's own, to kill and restart, stopped after the test; undefined when this machine can start none.
 */
export async function ownKafkaOrSkip(
  t: TestContext,
  options: Omit<LocalKafkaOptions, keyof StackContext> = {},
): Promise<LocalKafka | undefined> {
  const kafka = await orSkip(t, () => startKafka({ ...testContext(), ...options }));
  if (kafka) t.after(() => kafka.stop());
  return kafka;
}

/** A prefix for topics, groups and subjects that no other test and no other run uses. */
export function uniquePrefix(name: string): string {
  return `${name}-${randomUUID().slice(0, 8)}`;
}

/** What is started, or undefined when this machine cannot, and the test is skipped; with CI set, that fails it. */
export async function orSkip<T>(t: TestContext, start: () => Promise<T>): Promise<T | undefined> {
  try {
    const missing = process.env[STACK_MISSING];
    if (missing) throw new ConnectorError('STACK_UNAVAILABLE', missing);
    return await start();
  } catch (error) {
    const isMissing = error instanceof ConnectorError && error.code === 'STACK_UNAVAILABLE';
    if (!isMissing || process.env.CI) throw error;
    t.skip(`SKIPPED, no Kafka: ${error.message}`);
    return undefined;
  }
}

function testContext(): StackContext {
  return { env: process.env, clock: systemClock, onProgress: () => undefined, signal: new AbortController().signal };
}
