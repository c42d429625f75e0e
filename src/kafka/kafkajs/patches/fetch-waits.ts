import type { RetryOptions } from 'kafkajs';
import { untilAborted } from '../../../support/until-aborted.ts';

/** How long the fetches of a member of a group wait for records, and how often it shows the group that it lives meanwhile. */
export interface FetchWaits {
  /** Between two heartbeats without another member: nothing is to be learnt but that a member has come, which can wait. */
  readonly aloneMs: number;
  /** A fetch without another member. Heartbeats come while it waits. */
  readonly readMs: number;
  /** With others: their partitions are taken over, and ours given away, with the first heartbeat after a member left. */
  readonly togetherMs: number;
  /** The same where every partition is paused, or there is none: a heartbeat is all that such a member asks for. */
  readonly restingMs: number;
  /** No heartbeat comes sooner after the last one. */
  readonly shortestMs: number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Aborts when the member leaves, which ends the wait. */
  readonly leaving: AbortSignal;
  /** The long waits under way, each to be aborted when a heartbeat is wanted. Filled here. */
  readonly longWaits: Set<AbortController>;
}

/** What was fetched of one partition: all that the broker sent, with what no reader is given. */
interface FetchedBatch {
  readonly rawMessages: readonly unknown[];
}

/** The parts of kafkajs' group that are used here. */
interface ConsumerGroup {
  maxWaitTime: number;
  readonly members: readonly unknown[] | null;
  readonly cluster: FetchingCluster;
  heartbeat(options: { readonly interval: number }): Promise<void>;
  isLeader(): unknown;
  assigned(): readonly { readonly partitions: readonly number[] }[];
  paused(): readonly { readonly partitions: readonly number[] }[];
  fetch(nodeId: number): Promise<readonly FetchedBatch[]>;
  recoverFromFetch(error: unknown): Promise<void>;
  resume(partitions: unknown): void;
  joinAndSync(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: the compiler asks for this form of a class that is extended.
export type ConsumerGroupClass = new (...options: any[]) => ConsumerGroup;

/** The parts of kafkajs' cluster that hold the connections. */
export interface FetchingCluster {
  readonly brokerPool: { readonly brokers: Readonly<Record<string, FetchingBroker>> };
}

interface FetchingBroker {
  readonly connectionPool: { readonly pool: readonly FetchingConnection[] };
}

interface FetchingConnection {
  readonly socket?: { destroy(): void };
  rejectRequests(error: Error): void;
}

/** Of a broker's two connections, the one for fetches alone. */
const FETCHES = 1;

/** A fetch that takes so much longer than a member with others asks for waits behind one that it has given up. */
const LATE_FETCHES = 2;

/**
 * Gives up the fetches under way, with their connections: kafkajs closes a connection only when all its requests have
 * their responses, so each reader would wait at its end for as long as its fetch does.
 */
export function dropFetches({ brokerPool }: FetchingCluster): void {
  for (const { connectionPool } of Object.values(brokerPool.brokers)) {
    const connection = connectionPool.pool[FETCHES];
    connection?.rejectRequests(new Error('the fetch is no longer awaited'));
    connection?.socket?.destroy();
  }
}

/** The options by which kafkajs hands the waits through to the group: those for retries are the only ones it does not copy. */
export function retryWithWaits(retry: RetryOptions, fetchWaits: FetchWaits): RetryOptions {
  return Object.assign(retry, { fetchWaits });
}

/**
 * Patch K: a fetch of a member waits as long as the state of its group asks for, and ends when the member leaves or wants
 * a heartbeat. In the original, one fixed wait sets how often the group is asked, how long a member takes to leave, and,
 * where every partition is paused, when one that is resumed is read again.
 *
 * Each fetch takes ten times the CPU of a heartbeat, so that of a member that is alone waits for long, and its heartbeats
 * come meanwhile. One that fails ends the wait, as one after a fetch does.
 *
 * The broker goes on with a fetch that was given up, and takes up the next one of this connection behind it. So a
 * record that arrives ends the first, whose response is dropped, and is in the second's. Heartbeats come while a fetch
 * waits behind another one too. They end where a fetch is overdue, which is no sign of life.
 *
 * A partition without records is left out of what was fetched. The original does nothing for it but to wake each of its
 * workers, of which there are as many as a member may have partitions, and to ask for a heartbeat; without any batch it
 * sends that heartbeat too.
 */
export function withFetchWaits(Original: ConsumerGroupClass): ConsumerGroupClass {
  return class ConsumerGroup extends Original {
    readonly #waits: FetchWaits | undefined;
    /** One for each fetch that only passes the time, since every partition is paused. */
    readonly #resting = new Set<AbortController>();
    /** One for each fetch of records. */
    readonly #reading = new Set<AbortController>();
    /** Fetches that failed and may join again for it. */
    #recovering = 0;

    constructor(options: { readonly retry?: { readonly fetchWaits?: FetchWaits } }) {
      super(options);
      this.#waits = options.retry?.fetchWaits;
    }

    override async fetch(nodeId: number): Promise<readonly FetchedBatch[]> {
      const waits = this.#waits;
      if (waits === undefined) return super.fetch(nodeId);
      if (waits.leaving.aborted) return [];
      const paused = countOf(this.paused());
      const isResting = paused === countOf(this.assigned());
      // A partition that is resumed is read with the next fetch: one that waits for the others must not be long.
      const isLong = Boolean(this.isLeader()) && this.members?.length === 1 && (paused === 0 || isResting);
      this.maxWaitTime = waitMs(waits, isResting, isLong);
      const interrupted = new AbortController();
      const interrupting = [
        isResting ? this.#resting : this.#reading,
        ...(isResting && isLong ? [waits.longWaits] : []),
      ];
      for (const waiting of interrupting) waiting.add(interrupted);
      const ended = AbortSignal.any([waits.leaving, interrupted.signal]);
      const heartbeat = async () => {
        if (this.#recovering === 0) await this.heartbeat({ interval: waits.shortestMs });
      };
      try {
        const fetched = super.fetch(nodeId);
        const whole = isResting ? fetched : fetchedWithHeartbeats(fetched, heartbeat, ended, waits, isLong);
        const batches = await unlessEnded(whole, ended, waits, this.cluster);
        return batches.filter(({ rawMessages }) => rawMessages.length > 0);
      } finally {
        for (const waiting of interrupting) waiting.delete(interrupted);
      }
    }

    /**
     * A heartbeat that comes while the member joins again is that of a generation that is over, which ends the member.
     * Afterwards other brokers may lead the partitions, so the fetches of all brokers begin again.
     */
    override async recoverFromFetch(error: unknown): Promise<void> {
      this.#recovering += 1;
      try {
        await super.recoverFromFetch(error);
        for (const interrupted of this.#reading) interrupted.abort();
      } finally {
        this.#recovering -= 1;
      }
    }

    override resume(partitions: unknown): void {
      super.resume(partitions);
      for (const interrupted of this.#resting) interrupted.abort();
    }

    /** A fetch that was given up can still fail, for which the original joins again: as a member that nothing ends. */
    override async joinAndSync(): Promise<void> {
      if (this.#waits?.leaving.aborted) throw new Error('the member has left its group');
      return super.joinAndSync();
    }
  };
}

function waitMs({ aloneMs, readMs, togetherMs, restingMs }: FetchWaits, isResting: boolean, isLong: boolean): number {
  if (isResting) return isLong ? aloneMs : restingMs;
  return isLong ? readMs : togetherMs;
}

/** What was fetched; nothing as soon as the wait is ended. */
async function unlessEnded(
  fetching: Promise<readonly FetchedBatch[]>,
  ended: AbortSignal,
  { leaving }: FetchWaits,
  cluster: FetchingCluster,
): Promise<readonly FetchedBatch[]> {
  try {
    return await untilAborted(fetching, ended);
  } catch (error) {
    if (!ended.aborted) throw error;
    if (leaving.aborted) dropFetches(cluster);
    return [];
  }
}

/** What was fetched, with heartbeats until then; rejects as soon as one of these fails. */
async function fetchedWithHeartbeats(
  fetching: Promise<readonly FetchedBatch[]>,
  heartbeat: () => Promise<void>,
  ended: AbortSignal,
  { aloneMs, readMs, togetherMs, sleep, longWaits }: FetchWaits,
  isLong: boolean,
): Promise<readonly FetchedBatch[]> {
  const everyMs = isLong ? aloneMs : togetherMs * LATE_FETCHES;
  let wait = new AbortController();
  let isOver = false;
  const end = () => {
    isOver = true;
    wait.abort();
  };
  const fetched = fetching.then(end, end);
  ended.addEventListener('abort', end);
  try {
    for (let waitedMs = 0; waitedMs <= readMs; ) {
      if (isLong) longWaits.add(wait);
      const isWanted = await sleep(everyMs, wait.signal).then(
        () => false,
        () => true,
      );
      longWaits.delete(wait);
      if (isOver) break;
      if (!isWanted) waitedMs += everyMs;
      wait = new AbortController();
      await Promise.race([heartbeat(), fetched]);
      if (isOver) break;
    }
  } finally {
    ended.removeEventListener('abort', end);
  }
  return fetching;
}

function countOf(topics: readonly { readonly partitions: readonly number[] }[]): number {
  return topics.reduce((sum, { partitions }) => sum + partitions.length, 0);
}
