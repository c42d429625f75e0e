import type { SimulatorClock } from '../clock.ts';
import { dayText } from './calendar.ts';
import type { Change, Changes, EventKind } from './changes.ts';
import { createChoices } from './random.ts';
import type { Universe } from './universe.ts';

/** Changes the universe: some changes per second, or a number of changes at once. */
interface Life {
  /** Makes the changes that are due. Called at every request, so that no timer is needed. */
  catchUp(): void;
  change(count: number): void;
  setRate(perSecond: number): void;
}

interface LifeOptions {
  readonly seed: number;
  readonly mutationsPerSecond: number;
  readonly filteredShare: number;
  readonly universe: Universe;
  readonly changes: Changes;
  readonly clock: SimulatorClock;
  /** Null: a repaid instrument can change again, and is among the next instruments that leave the list. */
  readonly delisting: Delisting | null;
  readonly triggerCheck: (id: bigint) => void;
  readonly checkShare: number;
}

/** The maximum number of changes that `catchUp` makes in one call. The next calls make the other due changes. */
const MAX_CHANGES_AT_ONCE = 20_000;

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
      if (id === undefined || !delisting?.isRepaid(id)) return id;
      if (draws === MAX_DRAWS) return undefined;
    }
  };
  // Repaid instruments leave the list first, without an event.
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

interface Delisting {
  isRepaid(id: bigint): boolean;
  repaid(id: bigint): void;
  /** Returns and forgets the instrument with the oldest repayment; undefined if none is older than `delistAfterMs`. */
  next(): bigint | undefined;
}

interface DelistingOptions {
  /** How long a repaid instrument stays on the list; 0 means that any instrument can leave the list. */
  readonly delistAfterMs: number;
  /** The share of the universe that was repaid within delistAfterMs before the start. */
  readonly repaidAtFirst: number;
  readonly universe: Universe;
  readonly clock: SimulatorClock;
}

export function createDelisting(options: DelistingOptions): Delisting | null {
  const { delistAfterMs, repaidAtFirst, universe, clock } = options;
  if (delistAfterMs === 0) return null;
  const since = new Map<bigint, number>();
  const count = Math.floor(universe.size * repaidAtFirst);
  for (let at = 0; at < count; at++) {
    const id = universe.idAt(Math.floor(at / repaidAtFirst));
    if (id === undefined) continue;
    // Spreads the repayments over `delistAfterMs`, so that these instruments do not all leave the list at once.
    const agoMs = delistAfterMs * (1 - at / count);
    const version = universe.versionOf(id);
    universe.put(id, { ...version, number: version.number + 1, repaidOn: dayText(clock.wallMs() - agoMs) });
    since.set(id, clock.monotonicMs() - agoMs);
  }
  return {
    isRepaid: (id) => since.has(id),
    repaid(id) {
      since.set(id, clock.monotonicMs());
    },
    next() {
      // A map keeps its entries in the order of insertion. So the first entry is the oldest repayment.
      const [oldest] = since;
      if (oldest === undefined || oldest[1] + delistAfterMs > clock.monotonicMs()) return undefined;
      since.delete(oldest[0]);
      return oldest[0];
    },
  };
}
