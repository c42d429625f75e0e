import type { WindowRange } from '../config/price-kinds/all.ts';
import type { MarketData } from '../provider/market-data.ts';
import type { OnMismatch } from '../records/decoding/decoded-list.ts';
import { createPriceDecoder, type PriceBodyDecoder } from '../records/decoding/price-decoder.ts';
import type { Clock } from '../support/clock.ts';
import type { AnsweredRange, BulkPrices, PriceKind } from './bulk-prices.ts';
import { readBulkResponse } from './bulk-response.ts';
import type { EnabledKind } from './enabled-kinds.ts';

type AskedKind = Pick<EnabledKind, 'kind' | 'inRecords' | 'windows' | 'query'>;

export interface ProviderPricesOptions {
  readonly marketData: MarketData;
  readonly kinds: readonly AskedKind[];
  /** Requests the id of the kind's schema (`priceSchemaName`) from the registry. Not called again after a success. */
  readonly schemaId: (kind: PriceKind, signal: AbortSignal) => Promise<number>;
  /** The greatest length in bytes of a value on the kind's topic. The header with the schema id counts too. */
  readonly maxValueBytes: (kind: PriceKind) => number;
  readonly onMismatch: OnMismatch;
  readonly assumedZone: string | null;
  readonly clock: Clock;
}

const MINUTE_MS = 60_000;
const LARGEST_LEAD_MS = 24 * 60 * MINUTE_MS;

/** Requests bulk prices from the market data interface. Each call is one request; its response becomes records. */
export function createProviderPrices(options: ProviderPricesOptions): BulkPrices {
  const { marketData, onMismatch, assumedZone, clock } = options;
  const kinds = new Map(options.kinds.map((one) => [one.kind, one]));
  const made = new Map<PriceKind, PriceBodyDecoder>();
  // The lead of our clock over the provider's clock, which is subtracted from our time. If our clock is an hour ahead,
  // an uncorrected request for the last hour gets no prices.
  let leadMs = 0;

  async function decoderOf({ kind, inRecords }: AskedKind, signal: AbortSignal): Promise<PriceBodyDecoder> {
    const known = made.get(kind);
    if (known !== undefined) return known;
    const schemaId = await options.schemaId(kind, signal);
    const settings = { onMismatch, assumedZone, maxValueBytes: options.maxValueBytes(kind), clock };
    const decoder = createPriceDecoder({ ...settings, asked: inRecords, schemaId });
    made.set(kind, decoder);
    return decoder;
  }

  return {
    async ask(kind, questions, signal, timeoutMs) {
      const plan = kinds.get(kind);
      if (plan === undefined) throw new Error(`Prices of the kind ${kind} are not requested.`);
      const decoder = await decoderOf(plan, signal);
      const requestedAtMs = clock.wallMs();
      const atMs = requestedAtMs - leadMs;
      const windows = questions.map(({ answeredMs = atMs }) => plan.windows?.range(atMs, answeredMs) ?? null);
      const range = (at: number) => answeredRange(windows[at] ?? null, atMs);
      return marketData.bulk(
        questions.map(({ isin }, at) => ({ isin, query: plan.query(windows[at] ?? null) })),
        ({ body, date }) => {
          const receivedAtMs = clock.wallMs();
          if (date !== null) leadMs = leadOf(receivedAtMs - date);
          const times = { requestedAtMs, receivedAtMs };
          return readBulkResponse(body, { ...times, questions, range, kind: plan.inRecords.kind, decoder });
        },
        signal,
        timeoutMs,
      );
    },
  };
}

function answeredRange(windows: WindowRange | null, atMs: number): AnsweredRange | null {
  if (windows === null) return null;
  return { fromMs: windows.fromMs, untilMs: windows.toMs ?? atMs, isLast: windows.toMs === null };
}

/** Rounds the lead of our clock up to whole minutes, so that the look-back does not change with every call. */
function leadOf(differenceMs: number): number {
  if (differenceMs <= MINUTE_MS) return 0;
  return Math.min(Math.ceil(differenceMs / MINUTE_MS) * MINUTE_MS, LARGEST_LEAD_MS);
}
