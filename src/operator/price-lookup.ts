import type { MarketDataSettings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { JsonObject } from '../json/exact-json.ts';
import { readWholeJson } from '../json/json-body.ts';
import { createMarketData, type PriceRequest } from '../provider/market-data.ts';
import { isResponseType, responseType } from '../provider/price-query.ts';
import { createMarketDataHttp } from '../setup/provider-client.ts';
import { systemClock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { systemRandom } from '../support/system-random.ts';
import { nullWhenUnknown } from './null-when-unknown.ts';

/**
 * Asks the provider for the prices of one product; the response as it was sent, numbers verbatim.
 *
 * @returns null when the provider knows no product with this isin.
 * @throws ConnectorError of the provider's client, and BODY_MALFORMED for a response of another $type.
 */
export async function lookUpPrices(
  settings: NonNullable<MarketDataSettings>,
  request: PriceRequest,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): Promise<JsonObject | null> {
  const http = await createMarketDataHttp(settings, { clock: systemClock, random: systemRandom, log });
  try {
    const asked = createMarketData({ http }).single(request, ({ body }) => readWholeJson(body), signal);
    const response = await nullWhenUnknown(asked.then((found) => ({ found })));
    if (response === null) return null;
    const { found } = response;
    const { kind } = request.query;
    if (found instanceof Map && isResponseType(found.get('$type'), kind)) return found;
    const what = `Expected a response of $type ${responseType(kind)}, but its $type is missing or another one.`;
    throw new ConnectorError('BODY_MALFORMED', what);
  } finally {
    await http.close();
  }
}
