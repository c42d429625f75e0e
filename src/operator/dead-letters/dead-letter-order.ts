import { FOLLOWED_HEADER } from '../../connector/tasks/instrument-records.ts';
import { EVENT_OFFSET } from '../../provider/page-link.ts';

/** Says of a record which dead letter it was. */
export const DEAD_LETTER_HEADER = 'spc-dead-letter';

/** So much two brokers' clocks may differ; within it the provider's order decides. */
const CLOCKS_DIFFER_MS = 60_000;

type Headers = Readonly<Record<string, string>>;

/** What the order of states needs to know of a dead letter. */
export interface LetterPlace {
  /** The offset on the topic of dead letters, in decimal. */
  readonly id: string;
  readonly timestampMs: number;
  readonly headers: Headers;
}

/** The same of a record of the instruments topic. */
export interface StatePlace {
  readonly timestampMs: number;
  readonly headers: Headers;
}

/**
 * Whether a state on the instruments topic is newer than that of a dead letter of the same instrument. Three things
 * decide, in this order:
 *
 * 1. A record that was a dead letter itself is as old as that letter, whenever it was retried.
 * 2. Records that were committed more than a minute apart are in the order of the brokers' clocks.
 * 3. Otherwise the provider's order: the source's offset in the stream, and, of one response, what the letter says of
 *    the events behind it. A page comes before the events that were requested from the same offset.
 *
 * A record of unknown order counts as newer: a state that is not written now is written by the next walk.
 */
export function isNewerState(record: StatePlace, letter: LetterPlace): boolean {
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
