/** Answers in a row that moved the cursor, none of which showed the end of the stream. */
export interface StreamRun {
  /** The most events that one of them held. */
  readonly most: number;
  /** How many in a row now held few beside that. */
  readonly small: number;
}

const FIRST_REPEAT_MS = 1_000;
/** The pauses between small answers that may go on: the first, and the longest. */
const FIRST_READ_ON_MS = 50;
const LONGEST_READ_ON_MS = 1_000;

/** One more answer that moved the cursor and did not show the end; `goesOn`: it says that there is more. */
export function runOn(run: StreamRun | null, events: number, goesOn: boolean): StreamRun {
  const { most, small } = run ?? { most: 0, small: 0 };
  const isSmall = !goesOn && (events === 0 || events < most / 2);
  return { most: Math.max(most, events), small: isSmall ? small + 1 : 0 };
}

/**
 * Soon after an answer that was discarded, then ever later; at the interval where the stream is at its end. Else at once:
 * a backlog comes in answers of one size, whatever that is. Answers that are small beside those before are most likely
 * the newest events as they happen, which may go on without end: so they are read on, with pauses that grow.
 */
export function pauseMs(discarded: number, run: StreamRun | null): number {
  if (discarded > 0) return FIRST_REPEAT_MS * 2 ** Math.min(discarded - 1, 30);
  if (run === null) return Number.POSITIVE_INFINITY;
  return run.small === 0 ? 0 : Math.min(LONGEST_READ_ON_MS, FIRST_READ_ON_MS * 2 ** Math.min(run.small - 1, 30));
}
