/** Header fields of a response as undici gives them: names in lower case, a repeated field as a list. */
export type HeaderFields = Readonly<Record<string, string | string[] | undefined>>;

// IMF-fixdate (RFC 9110, 5.6.7), the one form that servers may send today. The obsolete forms lack the zone or the century.
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const LONGEST_RETRY_AFTER_MS = 3_600_000;

/** A field's value; the values of a repeated one joined by commas, as RFC 9110 (5.3) defines it. */
export function headerField(headers: HeaderFields, name: string): string | null {
  const value = headers[name];
  if (value === undefined) return null;
  return typeof value === 'string' ? value : value.join(', ');
}

/** The server's clock in milliseconds since the epoch; null when the Date of the response is missing or malformed. */
export function serverDate(headers: HeaderFields): number | null {
  return httpDate(headerField(headers, 'date'));
}

/** Seconds that the response spent in a cache; null without the field. Of several, the greatest. */
export function ageSeconds(headers: HeaderFields): number | null {
  const ages = (headerField(headers, 'age') ?? '')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => /^\d+$/.test(text));
  return ages.length === 0 ? null : Math.max(...ages.map(Number));
}

/**
 * How long the server asks us to wait, in milliseconds, capped at an hour so that a wrong value cannot stop a source.
 * A date is compared with the server's own clock where the response has it: ours may be wrong by hours.
 */
export function retryAfterMs(headers: HeaderFields, wallMs: number): number | undefined {
  const text = headerField(headers, 'retry-after')?.trim();
  if (text === undefined) return undefined;
  const waitMs = /^\d+$/.test(text)
    ? Number(text) * 1_000
    : (httpDate(text) ?? Number.NaN) - (serverDate(headers) ?? wallMs);
  if (Number.isNaN(waitMs)) return undefined;
  return Math.min(Math.max(waitMs, 0), LONGEST_RETRY_AFTER_MS);
}

function httpDate(text: string | null): number | null {
  if (text === null || !HTTP_DATE.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}
