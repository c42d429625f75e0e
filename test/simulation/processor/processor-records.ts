import type { InstrumentNews } from '../../../src/prices/core/instrument.ts';
import { NO_TERMS } from '../../../src/records/avro/instrument-terms.ts';
import type { ProcessorStep } from './processor-scenario.ts';

export interface LoggedRecord {
  readonly id: string;
  readonly news: InstrumentNews;
}

/** Which records of the instruments topic committed results answer, and what the committed offset says of them. */
export class AnsweredRecords {
  readonly #log: readonly LoggedRecord[];
  readonly #violated: (what: string) => void;
  /** By offset: how many committed results answer it. */
  readonly #answers: number[] = [];
  /** By any process so far; what it has superseded waits for the later record, whichever process answers that. */
  #everRead = 0n;
  /** By offset: when the present process read it, in time outside of commits. */
  readonly #readAtMs = new Map<number, number>();
  #committed = 0n;

  constructor(log: readonly LoggedRecord[], violated: (what: string) => void) {
    this.#log = log;
    this.#violated = violated;
  }

  get committed(): bigint {
    return this.#committed;
  }

  read(offset: bigint, freeMs: number): void {
    this.#readAtMs.set(Number(offset), freeMs);
    if (offset >= this.#everRead) this.#everRead = offset + 1n;
  }

  crashed(): void {
    this.#readAtMs.clear();
  }

  /** How long a record has waited since the present process read it. */
  waitedMs(offset: bigint, freeMs: number): number {
    return freeMs - (this.#readAtMs.get(Number(offset)) ?? Number.NEGATIVE_INFINITY);
  }

  /** Records that the present process read before then, and that no result answers. */
  overdue(beforeMs: number): string[] {
    return [...this.#readAtMs].flatMap(([at, ms]) =>
      ms < beforeMs && (this.#answers[at] ?? 0) === 0 && BigInt(at) >= this.#committed
        ? `record ${at} has waited since ${ms} ms, and should not have since ${beforeMs} ms`
        : [],
    );
  }

  answer(offsets: readonly bigint[]): void {
    for (const offset of offsets) this.#answers[Number(offset)] = (this.#answers[Number(offset)] ?? 0) + 1;
  }

  commit(offset: bigint): void {
    if (offset < this.#committed) this.#violated(`the offset goes back from ${this.#committed} to ${offset}`);
    this.#committed = offset;
    for (const [at, count = 0] of [...this.#answers].entries()) {
      if (count > 1) this.#violated(`record ${at} is answered ${count} times`);
      if (at >= offset && count > 0)
        this.#violated(`record ${at} is answered, but a restart at ${offset} reads it again`);
    }
    for (let at = 0; at < offset; at++) {
      if (!this.isAnswered(at)) this.#violated(`the offset ${offset} leaves record ${at} unanswered`);
    }
  }

  /** Whether a result answers the record, or a later one of its id, which was read, will. */
  isAnswered(offset: number): boolean {
    if ((this.#answers[offset] ?? 0) > 0) return true;
    const id = this.#log[offset]?.id;
    const later = this.#log.findIndex((record, at) => at > offset && record.id === id && BigInt(at) < this.#everRead);
    return later > 0 && (BigInt(later) >= this.#committed || this.isAnswered(later));
  }
}

export function newsOf(step: Extract<ProcessorStep, { kind: 'write' }>): InstrumentNews {
  if (step.news === 'live')
    return { kind: 'live', isin: step.isin === null ? null : `isin-${step.isin}`, terms: NO_TERMS };
  if (step.news === 'gone') return { kind: 'gone' };
  return { kind: 'unreadable', key: String(step.id), value: Buffer.alloc(1), reason: 'it is of another kind' };
}

/** The isin by id of what is live and has one, by the records below an offset. */
export function tableAt(log: readonly LoggedRecord[], offset: bigint): Map<string, string> {
  const table = new Map<string, string>();
  for (const { id, news } of log.slice(0, Number(offset))) {
    if (news.kind === 'live' && news.isin !== null) table.set(id, news.isin);
    else table.delete(id);
  }
  return table;
}
