import type { BodyChunks, BodyEdges } from './body-chunks.ts';

export interface HttpResponse {
  /** The server's clock in milliseconds since the epoch, from the Date header; null when there is no usable one. */
  readonly date: number | null;
  /**
   * The decoded body, to be read once. Throws BODY_INCOMPLETE when it was cut, BODY_TOO_LARGE, BODY_MALFORMED when it
   * cannot be decompressed, PROVIDER_TIMEOUT at the deadline, and the caller's reason when the caller aborts. When only
   * the closing (or the reset) of the connection marks the end, a cut goes unnoticed here: the JSON decoder finds it.
   */
  readonly body: BodyChunks;
  /**
   * Before the body is read: waits until it has arrived, or 16 MB of it, and gives its first and last 4 KiB at most;
   * null when more is to come or it broke, which reading it reports. So a request that follows from it can leave before
   * it is decoded.
   */
  arrived(): Promise<BodyEdges | null>;
  bytes(): number;
}

export type HeaderFields = Readonly<Record<string, string | string[] | undefined>>;

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const LONGEST_RETRY_AFTER_MS = 3_600_000;

/** A field's value; the values of a repeated one joined by commas, as RFC 9110 (5.3) defines it. */
export function headerField(headers: HeaderFields, name: string): string | null {
  const value = headers[name];
  if (value === undefined) return null;
  return typeof value === 'string' ? value : value.join(', ');
}

export function serverDate(headers: HeaderFields): number | null {
  return httpDate(headerField(headers, 'date'));
}

/** Of several ages the greatest, in seconds; null without the field. */
export function ageSeconds(headers: HeaderFields): number | null {
  const ages = (headerField(headers, 'age') ?? '')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => /^\d+$/.test(text));
  return ages.length === 0 ? null : Math.max(...ages.map(Number));
}

/**
 * How long the server asks us to wait, in milliseconds, capped at an hour so that a wrong value cannot stop a source. A
 * date is compared with the server's own clock where the response has it: ours may be wrong by hours.
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
