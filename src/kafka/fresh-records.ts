import type { CommittedRecord } from './record.ts';

/** Separates new records from repeated ones, as when a log is read from its beginning again. */
export class FreshRecords {
  readonly #nextOffsets = new Map<number, bigint>();

  /** Records below this offset are not new. */
  passOver(partition: number, nextOffset: bigint): void {
    this.#nextOffsets.set(partition, nextOffset);
  }

  /** True once per offset of a partition, and never for an offset below one that it was true for. */
  isFresh({ partition, offset }: Pick<CommittedRecord, 'partition' | 'offset'>): boolean {
    if (offset < (this.#nextOffsets.get(partition) ?? 0n)) return false;
    this.#nextOffsets.set(partition, offset + 1n);
    return true;
  }
}
