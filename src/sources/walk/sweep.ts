import type { Census } from './census.ts';
import type { InstrumentsSettings, WalkFlaw, WalkNotification } from './instruments-messages.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';

/** The sweep is the last step of a walk. It writes tombstones for the instruments that the provider has removed. */
export interface SweepPlan {
  readonly gone: readonly bigint[];
  readonly notifications: readonly WalkNotification[];
  /**
   * `refused`: an operator must confirm the deletions. `nothing`: the walk cannot know which instruments are gone.
   * `repeats`: no walk can know this yet, because the stream repeats earlier events.
   */
  readonly outcome: 'gone' | 'refused' | 'nothing' | 'repeats';
}

export const NOTHING_DECIDED: SweepPlan = { gone: [], notifications: [], outcome: 'nothing' };

/**
 * An instrument is gone if it is on the topic, no row showed it, and no event touched it. A resumed walk deletes
 * nothing, because the rows from before the restart are forgotten. A flaw also prevents deletions, because the list is
 * then unreliable. An operator must confirm the deletions if there are too many.
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

/**
 * Returns the sorted missing ids, except ids that a recent event names, because the list may lag behind this event.
 * With `named`, returns only the missing ids that a recent event names.
 */
export function missingIds(census: Census, touched: ReadonlySet<bigint>, named = false): readonly bigint[] {
  const isNamed = (id: bigint) => census.reportedAgeMs(id) !== null;
  const missing = [...census.unseen()].filter((id) => !touched.has(id) && isNamed(id) === named);
  return missing.sort((a, b) => (a < b ? -1 : 1));
}

/** Five percent more than are gone now, because the list changes before the next walk. */
export const withMargin = (gone: number) => Math.ceil(gone * 1.05);

export function mayDelete(
  gone: number,
  held: number,
  { maxShrink, shrinkAlwaysAllowed }: Pick<InstrumentsSettings, 'maxShrink' | 'shrinkAlwaysAllowed'>,
): boolean {
  return gone <= shrinkAlwaysAllowed || gone <= held * maxShrink;
}
