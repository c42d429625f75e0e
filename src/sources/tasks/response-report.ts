import type { DeadLetterCounts, StreamCommitted } from '../../observe/events.ts';
import type { DecodedList } from '../../records/decoding/decoded-list.ts';
import type { DecodedEvent } from '../../records/decoding/event-decoder.ts';
import type { FollowedResponse } from './followed-stream.ts';

interface CountedRow {
  readonly kind: string;
  readonly key: string | null;
  readonly tooLarge?: boolean;
  readonly pointer?: string;
  readonly reason?: string;
}

export function deadLetterCounts(rows: readonly CountedRow[]): DeadLetterCounts {
  const failures = rows.filter((row) => row.kind === 'failure');
  const tooLarge = failures.filter((row) => row.tooLarge);
  const withoutKey = failures.filter((row) => row.key === null && !row.tooLarge);
  return {
    deadLetters: failures.length,
    deadLettersTooLarge: tooLarge.length,
    deadLettersWithoutKey: withoutKey.length,
    dead: failures.map(({ key, pointer = '', reason = '' }) => ({ key, pointer, reason })),
  };
}

export function totals({ rows, duplicateKeys }: Pick<DecodedList<CountedRow>, 'rows' | 'duplicateKeys'>) {
  let drift = 0;
  let roundedNumbers = 0;
  for (const row of rows as readonly (CountedRow & { driftFields?: number; roundedNumbers?: number })[]) {
    drift += row.driftFields ?? 0;
    roundedNumbers += row.roundedNumbers ?? 0;
  }
  return { drift, roundedNumbers, duplicateKeys };
}

/** `record`: the noun of the items, such as `event`. */
export function streamReport(
  source: string,
  record: string,
  { decoded, next }: FollowedResponse<CountedRow>,
  commitMs: number,
) {
  const { deadLetters, ...dead } = deadLetterCounts(decoded.rows);
  const items = decoded.rows.length - deadLetters;
  return { source, record, items, deadLetters, ...dead, ...totals(decoded), since: next, commitMs };
}

export function eventsReport(
  source: string,
  answer: FollowedResponse<DecodedEvent>,
  commitMs: number,
): StreamCommitted {
  const taken = answer.decoded.rows.filter((event) => event.kind === 'event');
  const events = taken.map(({ type, name, isin, key }) => ({ type, name, isin, id: key }));
  return { ...streamReport(source, 'event', answer, commitMs), events };
}
