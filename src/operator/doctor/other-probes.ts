import type { PriceQuery } from '../../config/price-kinds/all.ts';
import type { Settings } from '../../config/settings.ts';
import type { HttpClient } from '../../http/client.ts';
import { createMarketData } from '../../provider/market-data.ts';
import { createPreTradeChecks, newestCheckOffset, nextCheckOffset } from '../../provider/pre-trade-checks.ts';
import { responseType } from '../../provider/price-query.ts';
import { type Finding, finding, largestTaken, missing, probe, probeStatus, rowsOf } from './finding.ts';
import { sizeFinding } from './list-probes.ts';

const OVERVIEW: PriceQuery = { kind: 'overview', fields: ['LastPrice'] };

/** The pre-trade checks: one request. Nothing of a check is shown. */
export async function probeChecks(http: HttpClient, baseUrl: string, signal: AbortSignal): Promise<Finding> {
  const [what, assumed] = ['pre-trade checks', 'links.next has an offset, and nextId too'];
  const preTradeChecks = createPreTradeChecks({ http, baseUrl });
  const probed = await probe((consume) => preTradeChecks.list(null, consume, signal));
  if (probed.kind !== 'answer') return finding(what, missing(probed), assumed, null);
  const links = probed.body.get('links');
  const count = rowsOf(probed.body, 'preTradeChecks')?.length ?? 0;
  try {
    nextCheckOffset(links instanceof Map ? links : new Map(), baseUrl);
    return finding(what, `${count} checks, with a usable links.next`, assumed, newestCheckOffset(probed.body) !== null);
  } catch {
    return finding(what, `${count} checks, without a usable links.next`, assumed, false);
  }
}

/** The market data interface, about instruments that were just listed: 4 requests, of which 3 are left unread. */
export async function probeMarketData(
  http: HttpClient,
  isins: readonly string[],
  { prices: { maxItems } }: Settings,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const marketData = createMarketData({ http });
  const [isin] = isins;
  if (isin === undefined) return [finding('market data', 'no instrument with an isin', 'prices by isin', null)];
  const expected = responseType('overview');
  const single = await probe((consume) => marketData.single({ isin, query: OVERVIEW }, consume, signal));
  const type = single.kind === 'answer' ? String(single.body.get('$type')) : missing(single);
  const items = isins.slice(0, 2).map((each) => ({ isin: each, query: OVERVIEW }));
  const bulk = await probe((consume) => marketData.bulk(items, consume, signal));
  const answered = bulk.kind === 'answer' ? rowsOf(bulk.body, 'items')?.map(isinOf).join(', ') : missing(bulk);
  const asked = items.map((item) => item.isin).join(', ');
  // As many different ones as were listed, over and over: only the number counts here.
  const sized = (size: number) =>
    Array.from({ length: size }, (_, at) => ({ isin: isins[at % isins.length] ?? isin, query: OVERVIEW }));
  const largest = await largestTaken([2 * maxItems, maxItems], (size) =>
    probeStatus((consume) => marketData.bulk(sized(size), consume, signal)),
  );
  return [
    finding('$type of an overview', type, expected, type === expected),
    finding('order of a bulk response', answered ?? 'no items', asked, answered === asked),
    sizeFinding('bulk request', largest, maxItems),
  ];
}

function isinOf(item: ReadonlyMap<string, unknown>): string {
  const identifier = item.get('responseIdentifier');
  return identifier instanceof Map ? String(identifier.get('isin')) : 'none';
}
