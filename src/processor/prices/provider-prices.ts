import type { OnMismatch } from '../../decoding/decoded-list.ts';
import { createPriceDecoder, type PriceBodyDecoder } from '../../decoding/price-decoder.ts';
import type { MarketData } from '../../provider/market-data.ts';
import type { Clock } from '../../support/clock.ts';
import type { BulkPrices, PriceKind } from '../bulk-prices.ts';
import { readBulkResponse } from './bulk-response.ts';
import type { PriceRequestPlan } from './enabled-kinds.ts';

export interface ProviderPricesOptions {
  readonly marketData: MarketData;
  /** What is asked for of each kind that is. */
  readonly asked: readonly PriceRequestPlan[];
  /** The id of the kind's schema in the registry (`priceSchemaName` names it); asked once, and again after a failure. */
  readonly schemaId: (kind: PriceKind, signal: AbortSignal) => Promise<number>;
  /** The longest value that the topic of a kind takes, in bytes, header included. */
  readonly maxValueBytes: (kind: PriceKind) => number;
  readonly onMismatch: OnMismatch;
  /** The name of a time zone, or null. */
  readonly assumedZone: string | null;
  readonly clock: Clock;
}

const MINUTE_MS = 60_000;
const LARGEST_LEAD_MS = 24 * 60 * MINUTE_MS;

/** Bulk prices of the market data interface: one request per call, its answer straight to records. */
export function createProviderPrices(options: ProviderPricesOptions): BulkPrices {
  const { marketData, onMismatch, assumedZone, clock } = options;
  const asked = new Map<PriceKind, PriceRequestPlan>(options.asked.map((one) => [one.kind, one]));
  const made = new Map<PriceKind, PriceBodyDecoder>();
  // Of our clock. By it alone, when it is an hour ahead, a look-back of an hour would begin at the provider's now, and
  // find nothing.
  let leadMs = 0;

  async function decoderOf({ kind, inRecords }: PriceRequestPlan, signal: AbortSignal): Promise<PriceBodyDecoder> {
    const known = made.get(kind);
    if (known !== undefined) return known;
    const schemaId = await options.schemaId(kind, signal);
    const maxValueBytes = options.maxValueBytes(kind);
    const decoder = createPriceDecoder({
      asked: inRecords,
      schemaId,
      onMismatch,
      assumedZone,
      maxValueBytes,
      clock,
    });
    made.set(kind, decoder);
    return decoder;
  }

  return {
    async ask(kind, questions, signal, timeoutMs) {
      const plan = asked.get(kind);
      if (plan === undefined) throw new Error(`Prices of the kind ${kind} are not asked for.`);
      const decoder = await decoderOf(plan, signal);
      const requestedAtMs = clock.wallMs();
      const query = plan.query(requestedAtMs - leadMs);
      return marketData.bulk(
        questions.map(({ isin }) => ({ isin, query })),
        ({ body, date }) => {
          const receivedAtMs = clock.wallMs();
          if (date !== null) leadMs = leadOf(receivedAtMs - date);
          return readBulkResponse(body, { questions, kind: query.kind, decoder, requestedAtMs, receivedAtMs });
        },
        signal,
        timeoutMs,
      );
    },
  };
}

/** How far we are ahead, as far as it matters: in whole minutes, so that the look-back does not move with every call. */
function leadOf(differenceMs: number): number {
  if (differenceMs <= MINUTE_MS) return 0;
  return Math.min(Math.ceil(differenceMs / MINUTE_MS) * MINUTE_MS, LARGEST_LEAD_MS);
}
