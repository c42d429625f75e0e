import type { BodyChunks, BodyEdges } from './body-chunks.ts';

/** A successful response (2xx, JSON, not from a cache) while its body is being read. */
export interface HttpResponse {
  readonly status: number;
  /** The server's clock in milliseconds since the epoch, from the Date header; null when there is no usable one. */
  readonly date: number | null;
  readonly contentType: string;
  /** Seconds in a cache: 0, or null when the response does not say. Anything above is refused. */
  readonly age: number | null;
  /** How the body was compressed: gzip, br; null when it was not. */
  readonly encoding: string | null;
  /**
   * The decoded body, to be read once. Throws BODY_INCOMPLETE when it was cut, BODY_TOO_LARGE, BODY_MALFORMED when it
   * cannot be decompressed, PROVIDER_TIMEOUT at the deadline, and the caller's reason when the caller aborts. When only
   * the closing (or the reset) of the connection marks the end, a cut goes unnoticed here: the JSON decoder finds it.
   */
  readonly body: BodyChunks;
  /**
   * Before the body is read: waits until it has arrived, or 16 MB of it, and gives its first and last 4 KiB at most; null when
   * more is to come or it broke, which reading it reports. So a request that follows from it can leave before it is decoded.
   */
  arrived(): Promise<BodyEdges | null>;
  /** Decoded bytes so far. */
  bytes(): number;
}
