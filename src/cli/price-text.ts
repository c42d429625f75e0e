import type { JsonObject, JsonValue } from '../json/exact-json.ts';
import { isArray, toJsonText } from '../json/json-text.ts';
import { textTable } from './output.ts';

const OBSERVED = 'ObservedAtTimestamp';
const OBSERVED_OF_QUOTE = 'observedAtTimestamp';

/** A typed response as a table: a line for each price of an overview, or for each window of a series; nulls are left out. */
export function pricesAsTable(response: JsonObject): string {
  const prices = response.get('prices');
  return textTable(prices !== undefined && isArray(prices) ? seriesRows(prices) : overviewRows(response));
}

function overviewRows(response: JsonObject): string[][] {
  const rows = [['price', 'value', 'observed at']];
  for (const [name, value] of response) {
    if (name === '$type' || (name.endsWith(OBSERVED) && response.has(name.slice(0, -OBSERVED.length)))) continue;
    const observed = cell(response.get(`${name}${OBSERVED}`));
    if (!(value instanceof Map)) {
      if (value !== null) rows.push([name, cell(value), observed]);
      continue;
    }
    const quote: JsonObject = value;
    for (const [member, inner] of quote) {
      if (member === OBSERVED_OF_QUOTE || inner === null) continue;
      rows.push([`${name}.${member}`, cell(inner), cell(quote.get(OBSERVED_OF_QUOTE))]);
    }
  }
  return rows;
}

function seriesRows(prices: readonly JsonValue[]): string[][] {
  const windows = prices.filter((price): price is JsonObject => price instanceof Map);
  const names = new Set(
    windows.flatMap((window) => [...window].flatMap(([name, value]) => (value === null ? [] : [name]))),
  );
  return [[...names], ...windows.map((window) => [...names].map((name) => cell(window.get(name))))];
}

/** Numbers as they were sent. */
function cell(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : toJsonText(value);
}
