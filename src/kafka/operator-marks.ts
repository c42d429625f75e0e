import type { CommittedRecord, OutgoingRecord } from './record.ts';

/*
 * An operator's command that changes an offset takes the partition's transactional id from a running connector. It notes
 * that in its transaction, by a record without a value under a key of no source, so that the connector does not count it
 * as another installation with the same ids.
 */

const KEY = Buffer.from('["",{"operator":true}]');
const FENCINGS_HEADER = 'spc-fencings';

/** Records how many times an operator's command has opened the writer of this partition. */
export function operatorMark(options: {
  readonly topic: string;
  readonly partition: number;
  readonly fencings: number;
}): OutgoingRecord {
  const { topic, partition, fencings } = options;
  return { topic, partition, key: KEY, value: null, headers: { [FENCINGS_HEADER]: String(fencings) } };
}

export function isOperatorMark({ key }: Pick<CommittedRecord, 'key'>): boolean {
  return key?.equals(KEY) === true;
}

/** The marks of one partition, over all the times that it is read from its beginning. */
export class OperatorMarks {
  #nextOffset = 0n;
  #fencings = 0;

  take({ offset, headers }: Pick<CommittedRecord, 'offset' | 'headers'>): void {
    if (offset < this.#nextOffset) return;
    this.#nextOffset = offset + 1n;
    const fencings = Number(headers[FENCINGS_HEADER]);
    this.#fencings += Number.isSafeInteger(fencings) && fencings > 0 ? fencings : 1;
  }

  /** How many fencings the marks report beyond those returned before. */
  drain(): number {
    const fencings = this.#fencings;
    this.#fencings = 0;
    return fencings;
  }
}
