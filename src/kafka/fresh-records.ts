import type { CommittedRecord } from './record.ts';

/** Tells new records from those that come again, as they do when a log is read from its beginning anew. */
export class FreshRecords {
  readonly #nextOffsets = new Map<number, bigint>();

  /** What lies below this offset is not new. */
  passOver(partition: number, nextOffset: bigint): void {
    this.#nextOffsets.set(partition, nextOffset);
  }

  /** True once per offset of a partition, and never for one below a record that it was true for. */
  isFresh({ partition, offset }: Pick<CommittedRecord, 'partition' | 'offset'>): boolean {
    if (offset < (this.#nextOffsets.get(partition) ?? 0n)) return false;
    this.#nextOffsets.set(partition, offset + 1n);
    return true;
  }
}
