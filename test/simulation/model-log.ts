import type { SourceOffset } from '../../src/kafka/offset-store.ts';
import type { CoreNotification } from '../../src/sources/walk/instruments-messages.ts';
import type { ModelEvent } from './model-ledger.ts';

/** A record of the instruments topic; version null is a tombstone, of a sweep or of an event that deletes. */
export interface ModelRecord {
  readonly id: bigint;
  readonly version: number | null;
  readonly from: 'page' | 'event' | 'sweep';
}

/** One transaction, whatever became of it. */
export interface ModelTransaction {
  readonly atMs: number;
  readonly epoch: number;
  readonly state: 'committed' | 'aborted';
  /** Which instruments topic it was written to: it may be deleted and created again. */
  readonly topic: number;
  readonly instruments: readonly ModelRecord[];
  readonly events: readonly ModelEvent[];
  /** The offset that its answer was asked for after. */
  readonly asked: string;
  readonly notifications: readonly CoreNotification[];
  readonly offset: SourceOffset;
  /** For the oracle: what was true when it was written. */
  readonly truth: {
    /** When the list had last been asked behind its end. */
    readonly verifiedMs: number;
    /** When any process had last been answered by the stream. */
    readonly streamAnsweredMs: number;
    /** Whether the answers' dates could be trusted. */
    readonly isDateTrue: boolean;
    /** How the list was cut in any answer that the walk has used. */
    readonly truncated: 'soft' | 'hard' | null;
    /** Whether the list may lag by more than the hand-off margin. */
    readonly listLags: boolean;
  };
}

/** A transactional log with one transactional id: the newest epoch commits, everybody else is refused. */
export class ModelLog {
  readonly entries: (ModelTransaction | { readonly fence: number })[] = [];
  #epoch = 0;
  #topic = 1;

  get topicId(): string {
    return String(this.#topic);
  }

  /** The instruments topic is deleted and created again. */
  replaceTopic(): void {
    this.#topic += 1;
  }

  /** Ends what the holders before left open, and gives the new epoch. */
  fence(): number {
    this.#epoch += 1;
    this.entries.push({ fence: this.#epoch });
    return this.#epoch;
  }

  committedOffset(): SourceOffset | null {
    return this.visible().at(-1)?.offset ?? null;
  }

  /** @returns false when a newer epoch was given out; the records are in the log all the same, aborted. */
  commit(transaction: Omit<ModelTransaction, 'state' | 'topic'>): boolean {
    const isCurrent = transaction.epoch === this.#epoch;
    this.entries.push({ ...transaction, topic: this.#topic, state: isCurrent ? 'committed' : 'aborted' });
    return isCurrent;
  }

  /** The producer dies before the commit: the records are in the log, aborted. */
  lose(transaction: Omit<ModelTransaction, 'state' | 'topic'>): void {
    this.entries.push({ ...transaction, topic: this.#topic, state: 'aborted' });
  }

  /** What a read_committed reader sees. */
  visible(): ModelTransaction[] {
    return this.entries.filter(
      (entry): entry is ModelTransaction => !('fence' in entry) && entry.state === 'committed',
    );
  }

  /** What a reader sees that wrote to the instruments topic of now. */
  onTopic(): ModelTransaction[] {
    return this.visible().filter(({ topic }) => topic === this.#topic);
  }

  /** The newest version of every instrument; null is gone. */
  instruments(): Map<bigint, number | null> {
    const topic = new Map<bigint, number | null>();
    for (const { instruments } of this.onTopic()) for (const { id, version } of instruments) topic.set(id, version);
    return topic;
  }
}
