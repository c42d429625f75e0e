import type { RetryOptions } from 'kafkajs';
import { untilAborted } from '../../../support/until-aborted.ts';

/** How long the fetches of a member of a group wait for records; a heartbeat follows each. */
export interface FetchWaits {
  /** Without another member, nothing is to be learnt from a heartbeat but that a member has come, which can wait. */
  readonly aloneMs: number;
  /** With others: their partitions are taken over, and ours given away, with the first heartbeat after a member left. */
  readonly togetherMs: number;
  /** The same where every partition is paused, or there is none: a heartbeat is all that such a member asks for. */
  readonly restingMs: number;
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
  isLeader(): unknown;
  assigned(): readonly { readonly partitions: readonly number[] }[];
  paused(): readonly { readonly partitions: readonly number[] }[];
  fetch(nodeId: number): Promise<readonly FetchedBatch[]>;
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
 * The broker goes on with a fetch that was interrupted, and takes up the next one of this connection behind it. So a
 * record that arrives ends the first, whose response is dropped, and is in the second's.
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
      const isAlone = Boolean(this.isLeader()) && this.members?.length === 1;
      // A partition that is resumed is read with the next fetch: one that waits for the others must not be long.
      const isLong = isAlone && (paused === 0 || isResting);
      const shortMs = isResting ? waits.restingMs : waits.togetherMs;
      this.maxWaitTime = isLong ? waits.aloneMs : shortMs;
      const interrupted = new AbortController();
      if (isLong) waits.longWaits.add(interrupted);
      if (isResting) this.#resting.add(interrupted);
      const ended = AbortSignal.any([waits.leaving, interrupted.signal]);
      try {
        const batches = await untilAborted(super.fetch(nodeId), ended);
        return batches.filter(({ rawMessages }) => rawMessages.length > 0);
      } catch (error) {
        if (!ended.aborted) throw error;
        if (waits.leaving.aborted) dropFetches(this.cluster);
        return [];
      } finally {
        waits.longWaits.delete(interrupted);
        this.#resting.delete(interrupted);
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

function countOf(topics: readonly { readonly partitions: readonly number[] }[]): number {
  return topics.reduce((sum, { partitions }) => sum + partitions.length, 0);
}
