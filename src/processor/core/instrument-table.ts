import { murmur2 } from '../../kafka/partitioner.ts';
import type { PriceKind } from '../bulk-prices.ts';
import { DueQueue } from './due-queue.ts';
import { type Instrument, newInstrument, type Plan } from './instrument.ts';
import { createRefreshSlots, type RefreshSlots } from './refresh-slots.ts';

interface Lane {
  readonly queue: DueQueue<Plan>;
  readonly slots: RefreshSlots;
}

/** The instruments of one partition that have an isin, and when each of them is refreshed for each kind. */
export class InstrumentTable {
  readonly #instruments = new Map<string, Instrument>();
  readonly #kinds: readonly PriceKind[];
  readonly #lanes: ReadonlyMap<PriceKind, Lane>;

  constructor(kinds: readonly { readonly kind: PriceKind; readonly refreshIntervalMs: number }[], epochMs: number) {
    this.#kinds = kinds.map(({ kind }) => kind);
    this.#lanes = new Map(
      kinds.map(({ kind, refreshIntervalMs }) => [
        kind,
        { queue: new DueQueue<Plan>(), slots: createRefreshSlots(refreshIntervalMs, epochMs) },
      ]),
    );
  }

  get size(): number {
    return this.#instruments.size;
  }

  values(): Iterable<Instrument> {
    return this.#instruments.values();
  }

  /** Whether this very instrument is still in the table, with the isin that it had. */
  holds(instrument: Instrument): boolean {
    return this.#instruments.get(instrument.id) === instrument;
  }

  has(id: string, isin: string): boolean {
    return this.#instruments.get(id)?.isin === isin;
  }

  /** The instrument of an id with this isin: the same one as before, or a new one that is scheduled for nothing yet. */
  put(id: string, isin: string, nowMs: number): Instrument {
    const known = this.#instruments.get(id);
    if (known?.isin === isin) return known;
    this.delete(id);
    const hash = murmur2(Buffer.from(id, 'utf8')) & 0x7fffffff;
    const instrument = newInstrument({
      id,
      isin,
      hash,
      sinceMs: nowMs,
      isinChanged: known !== undefined,
      kinds: this.#kinds,
    });
    this.#instruments.set(id, instrument);
    return instrument;
  }

  delete(id: string): void {
    const known = this.#instruments.get(id);
    if (known === undefined) return;
    for (const plan of known.plans) this.#lane(plan.kind).queue.remove(plan);
    this.#instruments.delete(id);
  }

  scheduleAt(plan: Plan, dueMs: number): void {
    this.#lane(plan.kind).queue.put(plan, dueMs);
  }

  /** The next slot; a plan that came early does not come again for the same one. */
  scheduleInSlot(plan: Plan, nowMs: number): void {
    const { queue, slots } = this.#lane(plan.kind);
    const afterMs = Math.max(nowMs, Math.min(plan.dueMs, nowMs + slots.earlyMs));
    queue.put(plan, slots.after(plan.instrument.hash, afterMs));
  }

  unschedule(plan: Plan): void {
    this.#lane(plan.kind).queue.remove(plan);
  }

  /** When the next instrument is due for a kind; infinite when there is none. */
  nextDueMs(kind: PriceKind): number {
    return this.#lane(kind).queue.first?.dueMs ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Takes instruments that are due, and when any is, those that soon will be; `mayTake` may refuse some, which come again
   * after `refusedMs`.
   */
  takeDue(
    kind: PriceKind,
    options: {
      readonly nowMs: number;
      readonly most: number;
      readonly mayTake: (instrument: Instrument) => boolean;
      readonly refusedMs: number;
    },
  ): Instrument[] {
    const { nowMs, most, mayTake, refusedMs } = options;
    const { queue, slots } = this.#lane(kind);
    const taken: Instrument[] = [];
    if (this.nextDueMs(kind) > nowMs) return taken;
    const refused: Plan[] = [];
    for (let plan = queue.first; plan !== undefined; plan = queue.first) {
      if (taken.length >= most || refused.length >= most || plan.dueMs > nowMs + slots.earlyMs) break;
      queue.remove(plan);
      if (mayTake(plan.instrument)) taken.push(plan.instrument);
      else refused.push(plan);
    }
    for (const plan of refused) queue.put(plan, nowMs + refusedMs);
    return taken;
  }

  #lane(kind: PriceKind): Lane {
    const lane = this.#lanes.get(kind);
    if (lane === undefined) throw new RangeError(`No instrument is asked for ${kind}.`);
    return lane;
  }
}
