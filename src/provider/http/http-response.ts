import type { BodyChunks, BodyEdges } from './body-chunks.ts';

export interface HttpResponse {
  /** The server's clock in milliseconds since the epoch, from the Date header; null without a usable header. */
  readonly date: number | null;
  /**
   * The decoded body, which can be read once. Throws BODY_INCOMPLETE for a cut, BODY_TOO_LARGE, BODY_MALFORMED if it
   * cannot be decompressed, PROVIDER_TIMEOUT, or the caller's reason after an abort. If only the end (or reset) of the
   * connection marks the body's end, only the JSON decoder notices a cut.
   */
  readonly body: BodyChunks;
  /**
   * Must be called before the body is read. Waits for the whole body, or for its first 16 MB. Returns its first and
   * last 4 KiB at most; null if the body is longer or broken (then reading throws). So the next request can start
   * before this body is decoded.
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
 * The wait that the server requests, in milliseconds. It is at most an hour, so that a wrong value cannot stop a
 * source. A date is compared with the server's own clock, if known, because our clock may be wrong by hours.
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
