import type { Census } from './census.ts';
import type { CoreSettings } from './core-settings.ts';
import type { CoreNotification, WalkFlaw } from './instruments-messages.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';

/** What a walk that has read the list to its end deletes, and what it says when it deletes nothing. */
export interface SweepPlan {
  readonly gone: readonly bigint[];
  readonly notifications: readonly CoreNotification[];
}

const NOTHING: SweepPlan = { gone: [], notifications: [] };

/**
 * Gone is what the topic holds, no row showed, and no event named since the walk began. A walk that was resumed has
 * forgotten what it saw before; one with a flaw cannot be trusted; and a list that lost much is more likely broken than
 * right, until an operator has said so.
 */
export function planSweep(options: {
  readonly offset: InstrumentsOffset;
  readonly flaws: ReadonlySet<WalkFlaw>;
  readonly touched: ReadonlySet<bigint>;
  readonly census: Census | null;
  readonly settings: CoreSettings;
}): SweepPlan {
  const { offset, flaws, touched, census, settings } = options;
  const { walk, counts, walkAllowShrink } = offset;
  if (!settings.tombstones || offset.walkResumed || census === null) return NOTHING;
  if (flaws.size > 0) return { gone: [], notifications: [{ kind: 'deletionSkipped', walk, flaws: [...flaws] }] };
  // What an event told of within the hour before the walk may be missing only because the list lags: the next walk decides.
  const gone = [...census.unseen()].filter((id) => !touched.has(id) && census.toldAgeMs(id) === null);
  if (gone.length === 0 || gone.length <= (walkAllowShrink ?? 0)) return { gone, notifications: [] };
  const refused = (why: 'emptyList' | 'tooMany'): SweepPlan => ({
    gone: [],
    notifications: [{ kind: 'shrinkRefused', walk, why, gone: gone.length, held: census.size }],
  });
  if (counts.rows === 0) return refused('emptyList');
  const isMuch = gone.length > settings.shrinkAlwaysAllowed && gone.length > census.size * settings.maxShrink;
  return isMuch ? refused('tooMany') : { gone, notifications: [] };
}
