import { untilAborted } from '../../../support/until-aborted.ts';
import type { GroupReaderOptions, OwnershipProof, PartitionReader, ReadBatch } from '../../group-reader.ts';
import type { TopicPartition } from '../../topic.ts';

/** Controls the fetches of a group member. The fetches of a partition begin after `readFrom` and end after `pause`. */
export interface PartitionFetcher {
  pause(partitions: readonly TopicPartition[]): void;
  readFrom(partition: TopicPartition, offset: bigint): void;
}

export interface HeldPartitionsOptions extends Pick<GroupReaderOptions, 'assigned' | 'joined'> {
  readonly ownershipProof: OwnershipProof['since'];
  readonly fetcher: PartitionFetcher;
  /** Called with the error of `assigned` or `take`. The member cannot continue. */
  readonly failed: (error: unknown) => void;
}

interface Held {
  readonly partition: TopicPartition;
  readonly lost: AbortController;
  reader: PartitionReader | undefined;
  /** All records with lower offsets were given to the reader. */
  nextOffset: bigint;
  taken: Promise<void>;
  /** The number of joins when reading began. After a newer join, batches are dropped until reading begins again. */
  readSinceJoin: number;
}

/** The partitions of a group member. A partition that is kept at a join continues at the position of its reader. */
export class HeldPartitions {
  readonly #options: HeldPartitionsOptions;
  #held = new Map<string, Held>();
  #joins = 0;
  #isOver = false;

  constructor(options: HeldPartitionsOptions) {
    this.#options = options;
  }

  /** Called at each join, before the next fetch. */
  rejoin(partitions: readonly TopicPartition[]): void {
    // The response to a join can come after the member's end. Then no code would release these partitions.
    if (this.#isOver) return;
    this.#joins += 1;
    this.#options.fetcher.pause(partitions);
    const before = this.#held;
    this.#held = new Map(
      partitions.map((partition) => [keyOf(partition), before.get(keyOf(partition)) ?? newlyHeld(partition)]),
    );
    for (const [key, held] of before) {
      if (!this.#held.has(key)) held.lost.abort(new Error('another member of the group reads this partition now'));
    }
    this.#options.joined?.(partitions);
    for (const [key, held] of this.#held) {
      if (!before.has(key)) this.#begin(held);
      else if (held.reader) this.#readOn(held, held.reader);
    }
  }

  /** Gives the reader the records that it does not have yet. Resolves when the reader has taken them; never rejects. */
  offer(partition: TopicPartition, batch: ReadBatch): Promise<void> {
    const held = this.#held.get(keyOf(partition));
    const reader = held?.reader;
    if (held === undefined || reader === undefined || held.readSinceJoin !== this.#joins) return Promise.resolve();
    const from = held.nextOffset;
    if (batch.nextOffset <= from) return Promise.resolve();
    const records = batch.records.filter(({ offset }) => offset >= from);
    held.nextOffset = batch.nextOffset;
    held.taken = held.taken
      .then(() => (held.lost.signal.aborted ? undefined : reader.take({ ...batch, records })))
      .catch((error: unknown) => this.#fail(held, error));
    return held.taken;
  }

  pauseUntilTaken(partition: TopicPartition): void {
    const held = this.#held.get(keyOf(partition));
    if (held === undefined || held.readSinceJoin !== this.#joins) return;
    this.#options.fetcher.pause([held.partition]);
    const { taken } = held;
    taken.then(() => {
      const isLast = held.taken === taken && held.readSinceJoin === this.#joins;
      if (isLast && !held.lost.signal.aborted) this.#options.fetcher.readFrom(held.partition, held.nextOffset);
    });
  }

  end(reason: unknown): void {
    this.#isOver = true;
    for (const { lost } of this.#held.values()) lost.abort(reason);
    this.#held = new Map();
  }

  #begin(held: Held): void {
    const lost = held.lost.signal;
    // The group's proof is not enough: a process that has lost this partition can still be a member of the group.
    const ownershipProof: OwnershipProof['since'] = async (sinceMs, signal) => {
      await untilAborted(this.#options.ownershipProof(sinceMs, signal), lost);
      lost.throwIfAborted();
    };
    const begin = async () => {
      const reader = await this.#options.assigned(held.partition, lost, ownershipProof);
      held.reader = reader;
      this.#read(held, reader);
    };
    begin().catch((error: unknown) => this.#fail(held, error));
  }

  /** Without this seek after a join, kafkajs would start at the group's offset, perhaps far below the reader's position. */
  #readOn(held: Held, reader: PartitionReader): void {
    const join = this.#joins;
    held.taken
      .then(() => {
        if (join === this.#joins) this.#read(held, reader);
      })
      .catch((error: unknown) => this.#fail(held, error));
  }

  #read(held: Held, reader: PartitionReader): void {
    if (held.lost.signal.aborted) return;
    held.nextOffset = reader.position();
    held.readSinceJoin = this.#joins;
    this.#options.fetcher.readFrom(held.partition, held.nextOffset);
  }

  #fail(held: Held, error: unknown): void {
    if (!held.lost.signal.aborted) this.#options.failed(error);
  }
}

function newlyHeld(partition: TopicPartition): Held {
  const lost = new AbortController();
  return { partition, lost, reader: undefined, nextOffset: 0n, taken: Promise.resolve(), readSinceJoin: 0 };
}

function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}
