import { type DeadLetterTail, readDeadLetterTail } from '../kafka/dead-letter.ts';
import type { PriceProblem } from '../observe/events.ts';
import { keptValue } from '../support/kept-value.ts';
import { untilAborted } from '../support/until-aborted.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { ReportedFailures } from './core/core-messages.ts';
import { KIND, NAME, PROBLEM, type PriceTargets } from './price-records.ts';

/** Partitions that start together share one reading. A later reading may find dead letters of another replica. */
const KNOWN_FOR_MS = 60_000;
const PROBLEMS = /^(?:(?:status|refused) \d{1,3}|mismatch|unusable|none)$/;

/** Reads which failures already have a dead letter, so that a restart or a takeover repeats no dead letter. */
export function createReportedFailuresReader({
  reported,
  targets,
  clock,
  ...tail
}: Omit<DeadLetterTail, 'onLetter' | 'topic' | 'source'> & {
  readonly reported: ReportedFailures;
  readonly targets: Pick<PriceTargets, 'prices' | 'deadLetters'>;
}): (signal: AbortSignal) => Promise<void> {
  const kindsOf = (topic: string | undefined) =>
    [...targets.prices].flatMap(([kind, { name }]): PriceKind[] => (name === topic ? [kind] : []));
  const read = () =>
    readDeadLetterTail({
      ...tail,
      topic: targets.deadLetters,
      source: NAME,
      clock,
      onLetter({ key, headers }) {
        const kinds = kindsOf(headers['__connect.errors.topic']);
        const name = headers[KIND];
        // Old dead letters name no kind and count for the topic's first kind. Kinds that are not enabled are ignored.
        const kind = name === undefined ? kinds[0] : kinds.find((one) => one === name);
        const problem = headers[PROBLEM];
        if (key !== null && kind !== undefined && isProblem(problem)) reported.add(kind, key, problem);
      },
    });
  const known = keptValue(read, { keepMs: KNOWN_FOR_MS, clock });
  return (signal) => untilAborted(known.get(), signal);
}

/** Other programs may write dead letters too: an unknown problem is ignored. */
function isProblem(text: string | undefined): text is PriceProblem {
  return text !== undefined && PROBLEMS.test(text);
}
