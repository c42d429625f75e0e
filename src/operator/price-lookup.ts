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

const NO_SUCH_PRODUCT = 404;

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
    const response = await createMarketData({ http }).single(request, ({ body }) => readWholeJson(body), signal);
    const { kind } = request.query;
    if (response instanceof Map && isResponseType(response.get('$type'), kind)) return response;
    const what = `Expected a response of $type ${responseType(kind)}, but its $type is missing or another one.`;
    throw new ConnectorError('BODY_MALFORMED', what);
  } catch (error) {
    // The token endpoint can answer with 404 too, which is another matter.
    const isRefusal = error instanceof ConnectorError && error.code === 'PROVIDER_REFUSED';
    if (isRefusal && error.fields.status === NO_SUCH_PRODUCT) return null;
    throw error;
  } finally {
    await http.close();
  }
}
