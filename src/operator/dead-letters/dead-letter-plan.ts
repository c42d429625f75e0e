import type { CommittedRecord, OutgoingRecord } from '../../kafka/record.ts';
import { DEAD_LETTER_HEADER, isNewerState } from './dead-letter-order.ts';
import type { RereadLetter } from './dead-letter-records.ts';
import type { DeadLetter } from './dead-letters-operation.ts';

/** So long the instruments topic knows at least that an instrument was deleted (`delete.retention.ms`). */
const DELETIONS_KNOWN_MS = 7 * 86_400_000;

const NEWER_STATE = 'the instruments topic has a newer state of this instrument';
const NEWER_LETTER = 'a newer dead letter of this instrument takes its place';
const NEWER_CHECK = 'the topic has a newer record of this check';
const NEWER_CHECK_LETTER = 'a newer dead letter of this check takes its place';
const MAYBE_DELETED =
  'the instruments topic has no state of this instrument, which may have been deleted; if not, the next walk writes it';

/** What becomes of one dead letter. */
export interface RetriedLetter {
  readonly id: string;
  /**
   * `toWrite` where nothing was executed; `superseded`: nothing need be written, since there is something newer, or the
   * topic has what this letter became before.
   */
  readonly outcome: 'written' | 'toWrite' | 'superseded' | 'impossible';
  /** The topics of its records. */
  readonly topics: readonly string[];
  /** Why not, or why not all of it; empty otherwise. */
  readonly says: string;
}

export interface Reread {
  readonly letter: DeadLetter;
  readonly now: RereadLetter;
}

/** What the topics hold under the keys that would be written. */
export interface Held {
  /** All that is still there, by topic and key. */
  readonly states: ReadonlyMap<string, readonly Pick<CommittedRecord, 'timestampMs' | 'headers'>[]>;
  /** The dead letters that are there already, each behind its topic. */
  readonly letters: ReadonlySet<string>;
}

/**
 * What is written of some dead letters, and why the rest is not. Events are all written, oldest first. Of the states of
 * an instrument only the newest is, wherever it comes from: the letters may be asked for in any order, together or one
 * by one.
 */
export function planRetry(
  reread: readonly Reread[],
  held: Held,
  at: {
    readonly instrumentTopics: readonly string[];
    readonly checkTopics: readonly string[];
    readonly nowMs: number;
  },
): { readonly outcomes: readonly RetriedLetter[]; readonly records: readonly OutgoingRecord[] } {
  const planned = new Map<string, RetriedLetter>();
  const oldestFirst = reread.toSorted((a, b) => (BigInt(a.letter.id) < BigInt(b.letter.id) ? -1 : 1));
  const written: OutgoingRecord[] = [];
  const decided = new Set<string>();
  // The newest decides which state of an instrument is written.
  for (const { letter, now } of oldestFirst.toReversed()) {
    const { id } = letter;
    if (now.kind === 'impossible') {
      planned.set(id, { id, outcome: 'impossible', topics: [], says: now.why });
    } else if (now.records.some(({ topic }) => held.letters.has(`${topic} ${id}`))) {
      planned.set(id, { id, outcome: 'superseded', topics: [], says: 'it has been written already' });
    } else {
      const reasons = now.records.map((record) => {
        if (at.instrumentTopics.includes(record.topic)) return againstState(record, letter, held, decided, at.nowMs);
        return at.checkTopics.includes(record.topic) ? againstCheck(record, letter, held, decided) : null;
      });
      const records = now.records.filter((_, index) => reasons[index] === null);
      for (const record of records) decided.add(placeOf(record));
      written.unshift(...records);
      const topics = records.map(({ topic }) => topic);
      const says = reasons.find((reason) => reason !== null) ?? '';
      planned.set(id, { id, outcome: records.length === 0 ? 'superseded' : 'written', topics, says });
    }
  }
  return { outcomes: reread.flatMap(({ letter }) => planned.get(letter.id) ?? []), records: written };
}

/** Why a state is not written; null when it is. `decided`: the places that a newer letter has taken. */
function againstState(
  record: OutgoingRecord,
  letter: DeadLetter,
  { states }: Held,
  decided: ReadonlySet<string>,
  nowMs: number,
): string | null {
  const place = placeOf(record);
  if (decided.has(place)) return NEWER_LETTER;
  const there = states.get(place) ?? [];
  if (there.some((state) => isNewerState(state, letter))) return NEWER_STATE;
  return there.length === 0 && nowMs - letter.timestampMs > DELETIONS_KNOWN_MS ? MAYBE_DELETED : null;
}

/** A check has one state, too; the provider was asked for it now, so that the newest letter decides. */
function againstCheck(
  record: OutgoingRecord,
  letter: DeadLetter,
  { states }: Held,
  decided: ReadonlySet<string>,
): string | null {
  const place = placeOf(record);
  if (decided.has(place)) return NEWER_CHECK_LETTER;
  return states.get(place)?.some((state) => isNewerState(state, letter)) ? NEWER_CHECK : null;
}

/** Collects what is held under the keys of some records. */
export class HeldStates implements Held {
  readonly states = new Map<string, Pick<CommittedRecord, 'timestampMs' | 'headers'>[]>();
  readonly letters = new Set<string>();
  readonly #wanted: ReadonlySet<string>;

  constructor(records: readonly OutgoingRecord[]) {
    this.#wanted = new Set(records.map(placeOf));
  }

  add({ topic, key, timestampMs, headers }: CommittedRecord): void {
    const place = placeOf({ topic, key });
    if (!this.#wanted.has(place)) return;
    const there = this.states.get(place) ?? [];
    this.states.set(place, [...there, { timestampMs, headers }]);
    const id = headers[DEAD_LETTER_HEADER];
    if (id !== undefined) this.letters.add(`${topic} ${id}`);
  }
}

function placeOf({ topic, key }: Pick<OutgoingRecord, 'topic' | 'key'>): string {
  return `${topic} ${key}`;
}
