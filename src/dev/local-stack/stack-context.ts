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
  /** Contains KAFKA_BROKERS and SCHEMA_REGISTRY_URL, and the paths of Java, Maven, Docker and the cache. */
  readonly env: StackEnvironment;
  readonly clock: Clock;
  /** Called with a line for a person who waits: an attempt, a download, a start, or a part that is ready. */
  readonly onProgress: (line: string) => void;
  /** Cancels a start that is in progress, and ends its parts. After the start, `stop` ends the parts. */
  readonly signal: AbortSignal;
  readonly log?: Log;
}

/** How the stack was started: by somebody else (`given`), or by us with Docker or with Java. */
type StackOrigin = 'given' | 'docker' | 'java';

/** A Kafka cluster and a schema registry that are ready for clients. */
export interface LocalStack {
  readonly brokers: string[];
  /** The base URL of Confluent's API, its path included: `<registryUrl>/subjects`. */
  readonly registryUrl: string;
  readonly how: StackOrigin;
  /**
   * Ends the parts that we started, and removes their data unless `dataFolder` was given. A second call does nothing.
   */
  stop(): Promise<void>;
}

export interface StackOptions extends StackContext {
  /**
   * The folder that keeps topics and schemas between runs (not with Docker). Without `dataFolder`, `stop` removes them.
   */
  readonly dataFolder?: string;
  /** Broker settings that replace settings of the local stack. */
  readonly brokerSettings?: BrokerSettings;
}

interface ReadyOptions {
  /** The name of the awaited part, for progress and errors: "Kafka 4.3.1". */
  readonly name: string;
  /** True if the part answers correctly. Never rejects, and has its own time limit. */
  readonly probe: () => Promise<boolean>;
  /** The reason why the part can no longer become ready; undefined while the part starts. */
  readonly ended: () => string | undefined;
  readonly limitMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress: (line: string) => void;
}

/**
 * Waits until the probe of a started part succeeds.
 * @throws ConnectorError STACK_UNAVAILABLE if the part ends or the limit passes; or the signal's reason.
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
 * Starts all parts at once. If a part fails, waits until the other parts have started, stops these parts, and then
 * throws the error. So no part keeps running.
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

/** The folder for the data and the log of a program that we start. */
export interface WorkFolder {
  readonly path: string;
  readonly isTemporary: boolean;
  /** Removes a temporary folder. A given folder stays. */
  remove(): Promise<void>;
}

/** Creates the given folder if it does not exist. If no folder is given, creates a temporary folder. */
export async function openWorkFolder(name: string, given: string | undefined): Promise<WorkFolder> {
  if (given !== undefined) {
    await mkdir(given, { recursive: true });
    return { path: given, isTemporary: false, remove: async () => undefined };
  }
  const path = await mkdtemp(join(tmpdir(), `structured-products-${name}-`));
  return { path, isTemporary: true, remove: () => rm(path, { recursive: true, force: true }) };
}
