import type { SimulatorClock } from '../clock.ts';
import type { Change, Changes, EventKind } from './changes.ts';
import type { Delisting } from './delisting.ts';
import { createChoices } from './random.ts';
import type { Universe } from './universe.ts';

/** Lets the universe live: at a rate while requests come, or a number of changes at once. */
export interface Life {
  /** Makes the changes that have become due; called at every request, so that nothing runs in between. */
  catchUp(): void;
  /** Makes so many changes now. */
  change(count: number): void;
  setRate(perSecond: number): void;
}

export interface LifeOptions {
  readonly seed: number;
  readonly mutationsPerSecond: number;
  /** The share of log entries that are filtered out for everyone. */
  readonly filteredShare: number;
  readonly universe: Universe;
  readonly changes: Changes;
  readonly clock: SimulatorClock;
  /** Null: what was repaid may change again and leaves at once, as does any other instrument. */
  readonly delisting: Delisting | null;
  /** Called now and then when a user triggers a pre-trade check. */
  readonly triggerCheck: (id: bigint) => void;
  /** The share of changes that are pre-trade checks. */
  readonly checkShare: number;
}

/** The most changes that one request catches up with; the rest follows with the next one. */
const MAX_CHANGES_AT_ONCE = 20_000;

/** How often an instrument is drawn to which something can still happen. */
const MAX_DRAWS = 20;

/** New issues and delistings are equally frequent, so the universe keeps its size. */
const WEIGHTS: readonly (readonly [kind: EventKind | 'vanish', weight: number])[] = [
  ['newissue', 8],
  ['datachange', 45],
  ['rulebasedparameteradjustment', 12],
  ['barriercross', 10],
  ['couponpayment', 8],
  ['incomepayment', 3],
  ['repayment', 6],
  ['vanish', 8],
];
const KINDS = WEIGHTS.flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind));

export function createLife(options: LifeOptions): Life {
  const { universe, changes, clock, delisting } = options;
  const choices = createChoices(options.seed);
  let perSecond = options.mutationsPerSecond;
  let sinceMs = clock.monotonicMs();
  const repaid: bigint[] = [];
  const repay = (id: bigint) => (delisting === null ? repaid.push(id) : delisting.repaid(id));

  const draw = () => {
    for (let draws = 1; ; draws++) {
      const id = universe.idAt(choices.below(universe.size));
      if (id === undefined || !delisting?.isOver(id)) return id;
      if (draws === MAX_DRAWS) return undefined;
    }
  };
  // What has been repaid is delisted first; it vanishes without an event.
  const leaving = (drawn: bigint) => (delisting === null ? (repaid.shift() ?? drawn) : delisting.next());
  const one = () => {
    if (choices.chance(options.filteredShare)) changes.apply({ kind: 'hidden' });
    const id = draw();
    const kind = choices.of(KINDS);
    if (id === undefined || kind === 'newissue') return changes.apply({ kind: 'newissue' });
    if (choices.chance(options.checkShare)) return options.triggerCheck(id);
    if (kind === 'repayment') repay(id);
    const changed = kind === 'vanish' ? leaving(id) : id;
    if (changed === undefined) return;
    const change: Change = { kind, id: String(changed) };
    return changes.apply(change);
  };
  const change = (count: number) => {
    for (let made = 0; made < count; made++) one();
  };
  return {
    change,
    setRate(rate) {
      perSecond = rate;
      sinceMs = clock.monotonicMs();
    },
    catchUp() {
      if (perSecond <= 0) return;
      const due = Math.min(MAX_CHANGES_AT_ONCE, Math.floor(((clock.monotonicMs() - sinceMs) / 1_000) * perSecond));
      sinceMs += (due / perSecond) * 1_000;
      change(due);
    },
  };
}
