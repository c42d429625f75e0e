import { type DeadLetterTail, readDeadLetterTail } from '../kafka/dead-letter-tail.ts';
import type { PriceProblem } from '../observability/processor-events.ts';
import type { PriceKind } from './bulk-prices.ts';
import type { ReportedFailures } from './core/reported-failures.ts';
import type { PriceTargets } from './price-records.ts';
import { NAME, PROBLEM } from './price-records.ts';

/** Partitions that are assigned together are read for once; one that comes later may bring dead letters of another replica. */
const KNOWN_FOR_MS = 60_000;
const PROBLEMS = /^(?:(?:status|refused) \d{1,3}|mismatch|unusable|none)$/;

/**
 * Reads which failures are dead letters already, before the prices of a partition begin: after a restart, and after
 * another replica had the partition, none of them is one again.
 */
export function createReportedFailuresReader({
  reported,
  targets,
  clock,
  ...tail
}: Omit<DeadLetterTail, 'onLetter' | 'signal' | 'topic' | 'source'> & {
  readonly reported: ReportedFailures;
  readonly targets: Pick<PriceTargets, 'prices' | 'deadLetters'>;
}): (signal: AbortSignal) => Promise<void> {
  const kinds = new Map<string | undefined, PriceKind>([...targets.prices].map(([kind, { name }]) => [name, kind]));
  let readMs = Number.NEGATIVE_INFINITY;

  return async (signal) => {
    const nowMs = clock.monotonicMs();
    if (nowMs - readMs < KNOWN_FOR_MS) return;
    await readDeadLetterTail({
      ...tail,
      topic: targets.deadLetters,
      source: NAME,
      clock,
      signal,
      onLetter({ key, headers }) {
        const kind = kinds.get(headers['__connect.errors.topic']);
        const problem = headers[PROBLEM];
        if (key !== null && kind !== undefined && isProblem(problem)) reported.add(kind, key, problem);
      },
    });
    readMs = nowMs;
  };
}

/** Anybody may write dead letters; a letter that is not ours says nothing. */
function isProblem(text: string | undefined): text is PriceProblem {
  return text !== undefined && PROBLEMS.test(text);
}
