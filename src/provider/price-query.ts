import { PRICE_KINDS, type PriceQuery } from '../config/price-kinds/all.ts';

/** The $type of a response to such a request. */
export function responseType(kind: PriceQuery['kind']): string {
  return PRICE_KINDS[kind].types.response;
}

/**
 * Whether a $type names the response to such a request. Its casing may differ, as that of any member may: the values
 * differ by more than their casing, so no response is taken for one of another kind.
 */
export function isResponseType(type: unknown, kind: PriceQuery['kind']): boolean {
  const expected = responseType(kind);
  return type === expected || (typeof type === 'string' && type.toLowerCase() === expected.toLowerCase());
}

/**
 * A ProductMarketDataRequest (part 2.1 of src/provider/README.md): what has no value is left out, as it is in a GET.
 */
export function typedRequest(isin: string, query: PriceQuery): object {
  return { $type: PRICE_KINDS[query.kind].types.request, isin, ...Object.fromEntries(parametersOf(query)) };
}

/** The parameters of a GET; a list repeats its parameter (form style, exploded). */
export function queryParameters(query: PriceQuery): readonly (readonly [name: string, value: string])[] {
  return parametersOf(query).flatMap(([name, value]) =>
    [value].flat().map((one): readonly [string, string] => [name, String(one)]),
  );
}

function parametersOf({ kind: _, ...parameters }: PriceQuery) {
  return Object.entries(parameters).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  );
}
