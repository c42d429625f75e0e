import type { CommittedRecord, OutgoingRecord } from '../kafka/record.ts';
import { EVENT_OFFSET } from '../provider/page-link.ts';
import type { RereadLetter } from '../sources/kinds/kind.ts';
import { FOLLOWED_HEADER } from '../sources/tasks/instrument-records.ts';

/** An input that could not become a record, on the dead letters topic. */
export interface DeadLetter {
  /** Its Kafka offset there, in decimal: the topic has one partition. */
  readonly id: string;
  /** By the broker's clock. */
  readonly timestampMs: number;
  readonly source: string;
  /** The topic of the intended record. */
  readonly topic: string;
  readonly key: string | null;
  /** JSON pointer to the problem in the input. */
  readonly pointer: string;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The input's bytes, cut at 256 KiB; null without input, as for pre-trade checks. */
  readonly value: Buffer | null;
}

/** The header with the id of the dead letter that a record was. */
export const DEAD_LETTER_HEADER = 'spc-dead-letter';

/** Clocks of two brokers may differ by so much; within it the provider's order decides. */
const CLOCKS_DIFFER_MS = 60_000;

/**
 * A state on the instruments topic is newer than a dead letter of the same instrument by these rules, in this order:
 *
 * 1. A record that was a dead letter itself is as old as that letter, whenever it was retried.
 * 2. Records that were committed more than a minute apart are in the order of the brokers' clocks.
 * 3. Otherwise the provider's order: the source's offset in the stream, and, of one response, the letter's header about
 *    the events behind it. A page comes before the events that were requested from the same offset.
 *
 * A record of unknown order counts as newer: a state that is not written now is written by the next walk. Exported for tests.
 */
export function isNewerState(record: HeldState, letter: Pick<DeadLetter, 'id' | 'timestampMs' | 'headers'>): boolean {
  const retried = record.headers[DEAD_LETTER_HEADER];
  if (retried !== undefined) return BigInt(retried) >= BigInt(letter.id);
  const laterMs = record.timestampMs - letter.timestampMs;
  if (Math.abs(laterMs) > CLOCKS_DIFFER_MS) return laterMs > 0;
  const [ofRecord, ofLetter] = [record.headers, letter.headers];
  const byOffset = compareOffsets(ofRecord['spc-since'], ofLetter['spc-since']);
  if (byOffset === null) return laterMs >= 0;
  if (byOffset !== 0) return byOffset > 0;
  const [recordWalk, letterWalk] = [ofRecord['spc-walk'], ofLetter['spc-walk']];
  if ((recordWalk === undefined) !== (letterWalk === undefined)) return recordWalk === undefined;
  if (recordWalk !== undefined && letterWalk !== undefined) {
    return recordWalk === letterWalk ? laterMs >= 0 : Number(recordWalk) > Number(letterWalk);
  }
  return ofLetter[FOLLOWED_HEADER] !== '0';
}

/** Null where one of them has another form than `<digits>-<digits>`. */
function compareOffsets(one: string | undefined, other: string | undefined): number | null {
  if (one === undefined || other === undefined || !EVENT_OFFSET.test(one) || !EVENT_OFFSET.test(other)) return null;
  const [a = [], b = []] = [one, other].map((offset) => offset.split('-').map(BigInt));
  const at = a.findIndex((part, index) => part !== b[index]);
  return at === -1 ? 0 : (a[at] ?? 0n) > (b[at] ?? 0n) ? 1 : -1;
}

/** The instruments topic keeps tombstones for so long (`delete.retention.ms`). */
const DELETIONS_KNOWN_MS = 7 * 86_400_000;

const MAYBE_DELETED =
  'the instruments topic has no state of this instrument, which may have been deleted; if not, the next walk writes it';

export interface RetriedLetter {
  readonly id: string;
  /** `toWrite` without --execute; `superseded`: the topic has a newer state, or the records of this letter. */
  readonly outcome: 'written' | 'toWrite' | 'superseded' | 'impossible';
  readonly topics: readonly string[];
  /** The reason of what is not written, and the age of a record that is replaced; empty otherwise. */
  readonly says: string;
}

export interface Reread {
  readonly letter: DeadLetter;
  readonly now: RereadLetter;
}

type HeldState = Pick<CommittedRecord, 'timestampMs' | 'headers'>;

/** The topics that keep the newest record of a key, and what it is: an instrument, or a check. */
type StateTopics = ReadonlyMap<string, string>;

/** Writes all events, oldest first, and the newest state of an instrument, in whichever order letters come. */
export function planRetry(
  reread: readonly Reread[],
  held: Pick<HeldStates, 'states' | 'letters'>,
  at: { readonly stateTopics: StateTopics; readonly nowMs: number },
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
        const what = at.stateTopics.get(record.topic);
        return what === undefined ? null : againstState(record, letter, what, { held, decided, nowMs: at.nowMs });
      });
      const records = now.records.filter((_, index) => reasons[index] === null);
      for (const record of records) decided.add(placeOf(record));
      written.unshift(...records);
      const topics = records.map(({ topic }) => topic);
      const says = reasons.find((reason) => reason !== null) ?? replacedBy(records, held, at.stateTopics);
      planned.set(id, { id, outcome: records.length === 0 ? 'superseded' : 'written', topics, says });
    }
  }
  return { outcomes: reread.flatMap(({ letter }) => planned.get(letter.id) ?? []), records: written };
}

/** A replaced record may be the provider's present state again, where the provider was wrong for a time. */
function replacedBy(
  records: readonly OutgoingRecord[],
  { states }: Pick<HeldStates, 'states'>,
  stateTopics: StateTopics,
): string {
  const ofStates = records.filter(({ topic }) => stateTopics.has(topic));
  const replaced = ofStates.flatMap((record) => states.get(placeOf(record))?.at(-1) ?? []);
  return replaced.map(({ timestampMs }) => `replaces the record of ${new Date(timestampMs).toISOString()}`).join('; ');
}

/** The reason not to write a state; null when it is written. `decided`: places that a newer letter has taken. */
function againstState(
  record: OutgoingRecord,
  { id, timestampMs, headers }: DeadLetter,
  what: string,
  { held, decided, nowMs }: { held: Pick<HeldStates, 'states'>; decided: ReadonlySet<string>; nowMs: number },
): string | null {
  const place = placeOf(record);
  if (decided.has(place)) return `a newer dead letter of this ${what} takes its place`;
  const there = held.states.get(place) ?? [];
  if (there.some((state) => isNewerState(state, { id, timestampMs, headers }))) {
    return `the topic has a newer state of this ${what}`;
  }
  const mayBeDeleted = what === 'instrument' && there.length === 0 && nowMs - timestampMs > DELETIONS_KNOWN_MS;
  return mayBeDeleted ? MAYBE_DELETED : null;
}

/** The states on the topics under the keys of some records, and the dead letters that were written already. */
export class HeldStates {
  readonly states = new Map<string, readonly HeldState[]>();
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
