import type { ProgressLine } from '../local-stack/progress-line.ts';
import type { Clock } from '../support/clock.ts';
import { freshnessText, type PriceBoard } from './price-board.ts';

/** After the walk; by then nearly all have their first price. */
const LIMIT_MS = 60_000;
const CHECK_MS = 250;

/**
 * Waits until every instrument has its price, or a reason why not; a minute at most, and no longer than the signal
 * lets. The processor's own count is not enough: between two fetches it may have answered all that it knows of, while
 * the newest pages are still unknown to it.
 *
 * @param instruments how many there are at the provider
 */
export async function firstPrices(
  instruments: number,
  board: Pick<PriceBoard, 'freshness'>,
  line: Pick<ProgressLine, 'show'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const deadlineMs = clock.monotonicMs() + LIMIT_MS;
  while (!signal.aborted && clock.monotonicMs() < deadlineMs) {
    const now = board.freshness();
    if (now !== null) {
      line.show(`Prices: ${freshnessText(now)}`);
      const isKnown = now.lag === 0 && now.unansweredInputs === 0 && now.instruments >= instruments;
      if (isKnown && now.waiting === 0) return;
    }
    await clock.sleep(CHECK_MS, signal).catch(() => {});
  }
}
