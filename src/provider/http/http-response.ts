import type { BodyChunks, BodyEdges } from './body-chunks.ts';

export interface HttpResponse {
  /** The server's clock in milliseconds since the epoch, from the Date header; null without a usable header. */
  readonly date: number | null;
  /**
   * The decoded body, which can be read once. Throws BODY_INCOMPLETE if the connection ends too early, BODY_TOO_LARGE,
   * BODY_MALFORMED if the body cannot be decompressed, PROVIDER_TIMEOUT, or the reason of the caller's signal. If the
   * response has neither Content-Length nor chunked encoding, only the JSON decoder notices an incomplete body.
   */
  readonly body: BodyChunks;
  /**
   * Waits for the whole body, or for its first 16 MiB, and returns the first and the last 4 KiB of the body. So the
   * next request can start before this body is decoded. Returns null if the body is longer than 16 MiB or broken.
   * (Reading a broken body throws.) Must be called before the body is read.
   */
  arrived(): Promise<BodyEdges | null>;
  bytes(): number;
}

export type HeaderFields = Readonly<Record<string, string | string[] | undefined>>;

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;
const LONGEST_RETRY_AFTER_MS = 3_600_000;

/** A field's value; the values of a repeated field are joined by commas, as in RFC 9110 (5.3). */
export function headerField(headers: HeaderFields, name: string): string | null {
  const value = headers[name];
  if (value === undefined) return null;
  return typeof value === 'string' ? value : value.join(', ');
}

export function serverDate(headers: HeaderFields): number | null {
  return httpDate(headerField(headers, 'date'));
}

/** The Age field in seconds, or the greatest of several ages; null without the field. */
export function ageSeconds(headers: HeaderFields): number | null {
  const ages = (headerField(headers, 'age') ?? '')
    .split(',')
    .map((text) => text.trim())
    .filter((text) => /^\d+$/.test(text));
  return ages.length === 0 ? null : Math.max(...ages.map(Number));
}

/**
 * The wait that the Retry-After header requests, in milliseconds. The wait is at most an hour, so that a wrong value
 * cannot stop a source. A date in Retry-After is compared with the Date header, because our clock can be wrong.
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
