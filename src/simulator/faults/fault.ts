import type { Edit } from '../ledger/lossless-json.ts';

/** The names by which faults and counts speak of the endpoints. */
const ENDPOINTS = [
  'token',
  'instruments',
  'instruments-my',
  'events',
  'events-my',
  'pre-trade-checks',
  'pre-trade-check',
  'bulk',
  'intraday',
  'daily',
  'overview',
] as const;
export type Endpoint = (typeof ENDPOINTS)[number];

/** Something that goes wrong with one response. Several may meet on one request, each in its own stage. */
export type Fault =
  /** Answers with a status. Retry-After: seconds, or `dateInSeconds` for the date form. The body defaults to a problem. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly retryAfterSeconds?: number;
      readonly retryAfterDateInSeconds?: number;
      readonly body?: string;
      readonly contentType?: string;
    }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'redirect'; readonly status?: number; readonly location: string }
  /** All tokens become invalid, this request's included. */
  | { readonly kind: 'expireTokens' }
  /** Answers 200 with this body: HTML, malformed or deep JSON, whatever. */
  | { readonly kind: 'body'; readonly body: string; readonly contentType?: string; readonly status?: number }
  /** Adds or replaces headers of the response, e.g. Age or Date. */
  | { readonly kind: 'headers'; readonly headers: Readonly<Record<string, string>> }
  /** Destroys the connection (RST) after a share of the body; 0 is before the first byte. */
  | { readonly kind: 'reset'; readonly share?: number }
  /** Ends the connection in good order, but too early. */
  | { readonly kind: 'truncate'; readonly how: 'contentLength' | 'chunked' | 'close'; readonly share?: number }
  /** The JSON lacks its last characters although HTTP is complete. */
  | { readonly kind: 'cutJson'; readonly characters?: number }
  | { readonly kind: 'bom' }
  /** The first occurrence of a text in the body becomes one byte, such as 0xfc, an ü in Latin-1. */
  | { readonly kind: 'byte'; readonly text: string; readonly byte: number }
  | { readonly kind: 'compress'; readonly codings: readonly ('gzip' | 'deflate' | 'br')[] }
  /** A few bytes at a time, of the head or of the body. */
  | { readonly kind: 'slow'; readonly part: 'head' | 'body'; readonly bytesPerSecond: number }
  /** A body that goes on, up to `maxBytes` (1 GiB). */
  | { readonly kind: 'endless'; readonly maxBytes?: number }
  /** A gzip body of this many decoded bytes. */
  | { readonly kind: 'bomb'; readonly decodedBytes: number }
  /** Changes the envelope of a page; see PageLinks. */
  | { readonly kind: 'links'; readonly how: PageLinks; readonly url?: string }
  /** Changes which rows a page has; see PageRows. */
  | { readonly kind: 'rows'; readonly how: PageRows }
  /** Changes rows: those at the given places, or a share of all, the same ones in every response. */
  | {
      readonly kind: 'poison';
      readonly rows?: readonly number[];
      readonly share?: number;
      readonly how: Poison;
    }
  /** Edits a JSON body by pointers (e.g. expires_in of a token). */
  | { readonly kind: 'edit'; readonly edits: readonly Edit[] }
  /** Only for bulk. With `isins`, only requests that hold one of them, at its place; else at the first item. */
  | { readonly kind: 'bulk'; readonly how: BulkSpoil; readonly isins?: readonly string[] };

/**
 * `swap`: two items change places; `drop`: one is missing; `add`: one comes twice; `mismatch`: one has another isin;
 * `type`: one has another $type; `null`: one has neither response nor errorResponse; `failAll`: all have failed;
 * `flag`: the errors flag says otherwise than the items; `refuse`: the whole request gets 400.
 */
export type BulkSpoil = 'swap' | 'drop' | 'add' | 'mismatch' | 'type' | 'null' | 'failAll' | 'flag' | 'refuse';

/**
 * `missing`: no links at all; `end`: next is null; `same`: next is this request's own cursor; `back`: next is the
 * cursor of the request before (with `same` in turn a loop of two); `lower`: a cursor far below; `form`: a cursor of
 * another form; `url`: next is `url`; `number`: next is a number.
 */
export type PageLinks = 'missing' | 'end' | 'same' | 'back' | 'lower' | 'form' | 'url' | 'number';

/** `previous`: the page before once more; `none`: no rows; `twice`: each row twice; `descending`: last row first. */
export type PageRows = 'previous' | 'none' | 'twice' | 'descending';

export type Poison =
  | { readonly edit: readonly Edit[] }
  /** One member of so many bytes is added. */
  | { readonly extraBytes: number }
  | { readonly capitalised: true }
  /** The row is replaced by this text. */
  | { readonly text: string };

/** When a fault strikes: the nth matching request (from when it was set, 1 by default), `count` times, or at a rate. */
export interface FaultRule {
  /** An endpoint, several, or `*` for all but the token endpoint. */
  readonly match: Endpoint | '*' | readonly Endpoint[];
  readonly nth?: number;
  /** How often; 1 by default, unlimited with a rate. 0 means without limit. */
  readonly count?: number;
  /** A probability per request, in place of nth. */
  readonly rate?: number;
  readonly fault: Fault;
}
