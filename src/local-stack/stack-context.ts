import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { BrokerSettings } from './broker-settings.ts';

/** Environment variables by name, as the process was given them. */
export type StackEnvironment = Readonly<Record<string, string | undefined>>;

/** What every part of the local stack is given. */
export interface StackContext {
  /** KAFKA_BROKERS and SCHEMA_REGISTRY_URL, and where Java, Maven, Docker and the cache are. */
  readonly env: StackEnvironment;
  readonly clock: Clock;
  /** Lines for a person who waits: what is tried, downloaded, started and ready. */
  readonly onProgress: (line: string) => void;
  /** Gives up a start that is under way; what was started by then is ended. A started stack is ended by `stop`. */
  readonly signal: AbortSignal;
  readonly log?: Log;
}

/** How the stack came to be: given by the environment, or started by us with Docker or with Java. */
export type StackOrigin = 'given' | 'docker' | 'java';

/** A Kafka cluster and a schema registry that answer. */
export interface LocalStack {
  /** host:port of each broker. */
  readonly brokers: string[];
  /** The base URL of Confluent's API, its path included: `<registryUrl>/subjects`. */
  readonly registryUrl: string;
  readonly how: StackOrigin;
  /** Ends exactly what was started, and removes its data unless a folder for it was given. Harmless a second time. */
  stop(): Promise<void>;
}

export interface StackOptions extends StackContext {
  /** Keeps topics and schemas from run to run (not with Docker). Without it they go with the stack. */
  readonly dataFolder?: string;
  /** Added to the quick settings of the broker, and stronger. */
  readonly brokerSettings?: BrokerSettings;
}
