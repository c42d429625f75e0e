import type { Census } from './census.ts';
import type { InstrumentsSettings, WalkFlaw, WalkNotification } from './instruments-messages.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';

export interface SweepPlan {
  readonly gone: readonly bigint[];
  readonly notifications: readonly WalkNotification[];
  /** `refused`: an operator must confirm the deletions. `nothing`: the walk could not decide. */
  readonly outcome: 'gone' | 'refused' | 'nothing';
}

export const NOTHING_DECIDED: SweepPlan = { gone: [], notifications: [], outcome: 'nothing' };

/**
 * An instrument is gone if it is on the topic, no row showed it, and no event touched it. A resumed walk has forgotten
 * rows, and a flaw makes the list unreliable: both prevent deletions. Many deletions need an operator's consent.
 */
export function planSweep(options: {
  readonly offset: Pick<InstrumentsOffset, 'walk' | 'counts' | 'walkAllowShrink' | 'walkResumed'>;
  readonly flaws: ReadonlySet<WalkFlaw>;
  readonly touched: ReadonlySet<bigint>;
  readonly census: Census | null;
  readonly settings: Pick<InstrumentsSettings, 'tombstones' | 'maxShrink' | 'shrinkAlwaysAllowed'>;
}): SweepPlan {
  const { offset, flaws, touched, census, settings } = options;
  const { walk, counts, walkAllowShrink } = offset;
  if (!settings.tombstones) return { ...NOTHING_DECIDED, outcome: 'gone' };
  if (offset.walkResumed || census === null) return NOTHING_DECIDED;
  const skipped: WalkNotification = { kind: 'deletionSkipped', walk, flaws: [...flaws] };
  if (flaws.size > 0) return { ...NOTHING_DECIDED, notifications: [skipped] };
  const gone = missingIds(census, touched);
  if (gone.length === 0 || gone.length <= (walkAllowShrink ?? 0)) return { gone, notifications: [], outcome: 'gone' };
  const refused = (why: 'emptyList' | 'tooMany'): SweepPlan => ({
    gone: [],
    notifications: [{ kind: 'shrinkRefused', walk, why, gone: gone.length, held: census.size }],
    outcome: 'refused',
  });
  if (counts.rows === 0) return refused('emptyList');
  return mayDelete(gone.length, census.size, settings)
    ? { gone, notifications: [], outcome: 'gone' }
    : refused('tooMany');
}

/** Returns the ids in order. An id of a recent event may be missing because the list lags: the next walk decides. */
export function missingIds(census: Census, touched: ReadonlySet<bigint>): readonly bigint[] {
  const missing = [...census.unseen()].filter((id) => !touched.has(id) && census.reportedAgeMs(id) === null);
  return missing.sort((a, b) => (a < b ? -1 : 1));
}

export function mayDelete(
  gone: number,
  held: number,
  { maxShrink, shrinkAlwaysAllowed }: Pick<InstrumentsSettings, 'maxShrink' | 'shrinkAlwaysAllowed'>,
): boolean {
  return gone <= shrinkAlwaysAllowed || gone <= held * maxShrink;
}
