import { ConnectorError } from '../errors.ts';
import { startDockerStack } from './docker-stack.ts';
import { givenStack } from './given-stack.ts';
import { startJavaStack } from './java-stack.ts';
import type { LocalStack, StackOptions } from './stack-context.ts';

/** One way to start a stack. Rejects with the reason, in one line, when it cannot be gone here. */
export interface StackWay {
  readonly name: string;
  start(options: StackOptions): Promise<LocalStack>;
}

const WAYS: readonly StackWay[] = [
  { name: 'Docker', start: startDockerStack },
  { name: 'Java', start: startJavaStack },
];

/**
 * Gives a Kafka and a schema registry that answer: the ones that KAFKA_BROKERS and SCHEMA_REGISTRY_URL name, or else
 * started with Docker, or else with Java and Maven. Each way that is not available is reported in one line.
 *
 * @throws ConnectorError STACK_UNAVAILABLE, naming the three ways and why none works; the signal's reason when it aborts.
 */
export async function startLocalStack(options: StackOptions, ways = WAYS): Promise<LocalStack> {
  const given = await givenStack(options);
  if (given) return given;
  const reasons: string[] = [];
  for (const way of ways) {
    options.signal.throwIfAborted();
    try {
      return await way.start(options);
    } catch (error) {
      options.signal.throwIfAborted();
      const reason = `${way.name}: ${error instanceof Error ? error.message : String(error)}`;
      options.log?.debug({ way: way.name, error }, 'A way to start the local stack is closed');
      options.onProgress(`${reason}.`);
      reasons.push(reason);
    }
  }
  throw new ConnectorError(
    'STACK_UNAVAILABLE',
    `No Kafka and no schema registry could be started. ${reasons.join('. ')}. ${THREE_WAYS}`,
  );
}

const THREE_WAYS =
  'Do one of these: set KAFKA_BROKERS and SCHEMA_REGISTRY_URL to running ones; start Docker; ' +
  'or install Java 17 or later and Maven.';
