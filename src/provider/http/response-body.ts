import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { ConnectorError } from '../../errors.ts';
import { type BodyChunks, type BodyEdges, chunksOf } from './body-chunks.ts';
import { quotedText } from './quoted-text.ts';

const CHUNK_BYTES = 65_536;
const MOST_AHEAD_BYTES = 16 * 1024 * 1024;
const EDGE_BYTES = 4_096;
const LONGEST_REST_BYTES = 65_536;

// "deflate" is not offered, since servers disagree on whether it has the zlib wrapper; nor is zstd, which Node calls
// experimental and whose frames may claim 128 MiB for their window.
const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', () => createGunzip({ chunkSize: CHUNK_BYTES })],
  ['br', () => createBrotliDecompress({ chunkSize: CHUNK_BYTES })],
]);

export const ACCEPTED_ENCODINGS = [...DECODERS.keys()].join(', ');

/** The body of a response: decoded, counted, and never longer than its cap. The owner of the stream destroys it. */
export interface ResponseBody {
  readonly chunks: BodyChunks;
  arrived(): Promise<BodyEdges | null>;
  bytes(): number;
  /** Why the body broke, also when its reader did not report that. */
  failure(): ConnectorError | undefined;
  /** Reads a short rest, so that a cut is noticed and the connection stays usable; rejects when the body is cut. */
  finish(): Promise<void>;
}

/**
 * @param options.encoding the content-encoding field; at most one encoding, chains are refused
 * @param options.from what answered, for messages, such as `GET https://host/v1/instruments of referenceData`
 * @param options.capSetting the setting to raise when the body is too large
 * @param options.signal the request's deadline: a body cut by it rejects with its reason
 */
export function openResponseBody(options: {
  readonly stream: Readable;
  readonly encoding: string | null;
  readonly maxBodyBytes: number;
  readonly from: string;
  readonly capSetting: string;
  readonly signal: AbortSignal;
}): ResponseBody {
  const { maxBodyBytes, from, capSetting, signal } = options;
  const decoded = decode(options.stream, options.encoding, from);
  // The output of a decoder lies beside its next input, so its chunks are not given back.
  const read = chunksOf(decoded, decoded === options.stream);
  let bytes = 0;
  let failure: ConnectorError | undefined;
  let restMayBeLeft = true;

  async function next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (failure !== undefined) throw failure;
    try {
      const result = await read.next();
      if (result.done === true) {
        restMayBeLeft = false;
        return { done: true, value: undefined };
      }
      bytes += result.value.byteLength;
      if (bytes > maxBodyBytes) throw tooLarge();
      return { done: false, value: result.value };
    } catch (cause) {
      if (signal.aborted) throw signal.reason;
      failure = cause instanceof ConnectorError ? cause : broken(cause);
      throw failure;
    }
  }

  function tooLarge(): ConnectorError {
    return new ConnectorError(
      'BODY_TOO_LARGE',
      `${from} was answered with more than ${maxBodyBytes} bytes; ask for less, or raise ${capSetting}.`,
      { fields: { maxBodyBytes } },
    );
  }

  function broken(cause: unknown): ConnectorError {
    if (isDataError(cause)) {
      return new ConnectorError('BODY_MALFORMED', `${from} was answered with a body that cannot be decompressed.`, {
        cause,
      });
    }
    return new ConnectorError('BODY_INCOMPLETE', `${from}: the response was cut after ${bytes} bytes.`, { cause });
  }

  return {
    // Without a return method, leaving a for-await loop keeps the rest readable for finish().
    chunks: { [Symbol.asyncIterator]: () => ({ next }) },
    arrived: () => read.arrived(Math.min(MOST_AHEAD_BYTES, maxBodyBytes + 1), EDGE_BYTES),
    bytes: () => bytes,
    failure: () => failure,
    async finish() {
      const before = bytes;
      while (restMayBeLeft && bytes - before <= LONGEST_REST_BYTES) await next();
    },
  };
}

function decode(stream: Readable, encoding: string | null, from: string): Readable {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return stream;
  const decoder = DECODERS.get(name)?.();
  if (decoder === undefined) {
    throw new ConnectorError(
      'PROTOCOL_VIOLATION',
      `${from} was answered with content-encoding "${quotedText(name, 80)}"; expected one of ${ACCEPTED_ENCODINGS}.`,
    );
  }
  // The callback is required; errors reach the reader through the decoder, which pipeline() destroys with them.
  return pipeline(stream, decoder, () => {});
}

// zlib has one code for an unexpected end (Z_BUF_ERROR), and others for data that is not compressed.
function isDataError(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code !== 'Z_BUF_ERROR' && /^(Z_|ERR_)/.test(code) && !code.startsWith('ERR_STREAM');
}
