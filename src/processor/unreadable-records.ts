import type { TopicPartition } from '../kafka/topic.ts';
import type { ProcessorEvents, UnreadableReason } from '../observability/processor-events.ts';
import { type BackOff, backOffMs, type Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { Pulse } from '../support/pulse.ts';
import type { ReadInstrument } from './instrument-news.ts';

/** A registry that was replaced, or restored, has a schema again after minutes rather than seconds. */
const ASK_AGAIN: BackOff = { initialMs: 30_000, maximumMs: 5 * 60_000 };
/** A topic that others write to can name any number of schemas; so many of them are asked for again. */
const MAXIMUM_SCHEMAS = 100;

interface Met {
  records: number;
  readonly firstOffset: bigint;
}

/** What cannot be read of one partition of instruments, wherever it is met: as the table is filled, or as it comes. */
export class UnreadableRecords {
  /** Instruments whose newest record cannot be read: they have no price until another one comes. */
  readonly #ids = new Set<string>();
  readonly #missingSchemas = new Set<number>();
  readonly #unreported = new Map<UnreadableReason, Met>();
  readonly #schemaMissing = new Pulse();

  get instruments(): number {
    return this.#ids.size;
  }

  /** To be called for every record that is read, readable or not. */
  read({ id, news }: ReadInstrument, offset: bigint): void {
    if (news.kind !== 'unreadable') {
      this.#ids.delete(id);
      return;
    }
    // A record without an id of an instrument stays on its topic for good, and hides no instrument.
    if (id === news.key) this.#ids.add(id);
    const { missingSchemaId = null } = news;
    if (missingSchemaId !== null && this.#missingSchemas.size < MAXIMUM_SCHEMAS) {
      this.#missingSchemas.add(missingSchemaId);
      this.#schemaMissing.notify();
    }
    const reason = missingSchemaId === null ? 'instrument' : 'schema';
    const met = this.#unreported.get(reason);
    if (met === undefined) this.#unreported.set(reason, { records: 1, firstOffset: offset });
    else met.records += 1;
  }

  /** One event for each reason, of what was met since the last time. */
  report(partition: TopicPartition, events: Pick<ProcessorEvents, 'recordsUnreadable'>): void {
    for (const [reason, { records, firstOffset }] of this.#unreported) {
      events.recordsUnreadable({ ...partition, reason, records, firstOffset: String(firstOffset) });
    }
    this.#unreported.clear();
  }

  /**
   * Resolves with the id of a schema that was missing and is there. `load` asks the registry for one; that it cannot be
   * asked now is like another miss.
   */
  async schemaFound(options: {
    readonly load: (schemaId: number, signal: AbortSignal) => Promise<boolean>;
    readonly clock: Clock;
    readonly random: Random;
    readonly signal: AbortSignal;
  }): Promise<number> {
    const { load, clock, random, signal } = options;
    while (this.#missingSchemas.size === 0) await this.#schemaMissing.next(signal);
    for (let rounds = 1; ; rounds++) {
      await clock.sleep(backOffMs(rounds, ASK_AGAIN, random), signal);
      for (const schemaId of this.#missingSchemas) {
        if (await load(schemaId, signal).catch(() => false)) return schemaId;
        signal.throwIfAborted();
      }
    }
  }
}
