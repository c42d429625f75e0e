import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConnectorError } from '../../errors.ts';
import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import type { BrokerSettings } from './broker-settings.ts';

const PROBE_INTERVAL_MS = 100;

export type StackEnvironment = Readonly<Record<string, string | undefined>>;

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
type StackOrigin = 'given' | 'docker' | 'java';

/** A Kafka cluster and a schema registry that answer. */
export interface LocalStack {
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

interface ReadyOptions {
  /** The awaited part, for progress and errors: "Kafka 4.3.1". */
  readonly name: string;
  /** True when it answers as it should. Never rejects, and has a time limit of its own. */
  readonly probe: () => Promise<boolean>;
  /** Why it can no longer become ready; undefined while it can. */
  readonly ended: () => string | undefined;
  readonly limitMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (line: string) => void;
}

/**
 * Waits until something that was started answers.
 * @throws ConnectorError STACK_UNAVAILABLE when it ends or the limit passes; the signal's reason when that aborts.
 */
export async function untilReady(options: ReadyOptions): Promise<void> {
  const { name, clock, limitMs, signal } = options;
  const startedMs = clock.monotonicMs();
  const elapsedMs = () => clock.monotonicMs() - startedMs;
  while (!(await options.probe())) {
    signal.throwIfAborted();
    const ended = options.ended();
    if (ended !== undefined) throw new ConnectorError('STACK_UNAVAILABLE', `${name} did not start: ${ended}`);
    if (elapsedMs() > limitMs) {
      throw new ConnectorError('STACK_UNAVAILABLE', `${name} was not ready after ${Math.round(limitMs / 1000)} s`);
    }
    await clock.sleep(PROBE_INTERVAL_MS, signal);
  }
  options.onProgress(`${name} is ready after ${(elapsedMs() / 1000).toFixed(1)} s.`);
}

interface Stoppable {
  stop(): Promise<void>;
}

/**
 * Starts all at once. When one fails, the others are awaited and stopped before its error is thrown: no part that is
 * still starting may be left behind.
 */
export async function startTogether<T extends readonly Stoppable[]>(
  starts: {
    readonly [K in keyof T]: () => Promise<T[K]>;
  },
): Promise<T> {
  const results = await Promise.allSettled(starts.map((start) => start()));
  const started = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failure = results.find((result) => result.status === 'rejected');
  if (!failure) return started as unknown as T;
  await Promise.allSettled(started.map((part) => part?.stop()));
  throw failure.reason;
}

/** Where a program that we start keeps its data and its log. */
export interface WorkFolder {
  readonly path: string;
  readonly isTemporary: boolean;
  /** Removes it when it is temporary, and leaves a given one alone. */
  remove(): Promise<void>;
}

/** The given folder, made when missing, or else a new temporary one. */
export async function openWorkFolder(name: string, given: string | undefined): Promise<WorkFolder> {
  if (given !== undefined) {
    await mkdir(given, { recursive: true });
    return { path: given, isTemporary: false, remove: async () => undefined };
  }
  const path = await mkdtemp(join(tmpdir(), `structured-products-${name}-`));
  return { path, isTemporary: true, remove: () => rm(path, { recursive: true, force: true }) };
}
