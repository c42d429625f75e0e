import type { SimulatorClock } from '../clock.ts';
import { dayText } from './calendar.ts';
import type { Universe } from './universe.ts';

/** The instruments that were repaid and are still listed; the longest repaid one leaves the list first. */
export interface Delisting {
  /** Whether the instrument was repaid, so that nothing happens to it any more. */
  isOver(id: bigint): boolean;
  repaid(id: bigint): void;
  /** Takes the instrument that leaves next; undefined while none was repaid long enough ago. */
  next(): bigint | undefined;
}

export interface DelistingOptions {
  /** How long a repaid instrument stays on the list; 0 for no order at all. */
  readonly delistAfterMs: number;
  /** The share of the universe that was repaid before it began, within that time. */
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
    // Spread over that time, as if the universe had lived before: the first leaves at once, the last at its end.
    const agoMs = delistAfterMs * (1 - at / count);
    const version = universe.versionOf(id);
    universe.put(id, { ...version, number: version.number + 1, repaidOn: dayText(clock.wallMs() - agoMs) });
    since.set(id, clock.monotonicMs() - agoMs);
  }
  return {
    isOver: (id) => since.has(id),
    repaid(id) {
      since.set(id, clock.monotonicMs());
    },
    next() {
      // A map keeps the order in which its entries were added.
      const [oldest] = since;
      if (oldest === undefined || oldest[1] + delistAfterMs > clock.monotonicMs()) return undefined;
      since.delete(oldest[0]);
      return oldest[0];
    },
  };
}
