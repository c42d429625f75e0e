import { pipeline, type Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip } from 'node:zlib';
import { ConnectorError } from '../../errors.ts';
import { type BodyChunks, type BodyEdges, chunksOf } from './body-chunks.ts';
import { quotedText } from './quoted-text.ts';

const CHUNK_BYTES = 65_536;
const MOST_AHEAD_BYTES = 16 * 1024 * 1024;
const EDGE_BYTES = 4_096;
const LONGEST_REST_BYTES = 65_536;

// "deflate" is not offered, because servers disagree about its zlib wrapper. zstd is not offered, because Node calls it
// experimental, and unpacking can need 128 MiB of memory.
const DECODERS: ReadonlyMap<string, () => Transform> = new Map<string, () => Transform>([
  ['gzip', () => createGunzip({ chunkSize: CHUNK_BYTES })],
  ['br', () => createBrotliDecompress({ chunkSize: CHUNK_BYTES })],
]);

export const ACCEPTED_ENCODINGS = [...DECODERS.keys()].join(', ');

/** The decoded body of a response. The number of bytes is counted and limited. The caller must destroy the stream. */
export interface ResponseBody {
  readonly chunks: BodyChunks;
  arrived(): Promise<BodyEdges | null>;
  bytes(): number;
  /** The error that broke the body, even if the reader did not report this error. */
  failure(): ConnectorError | undefined;
  /** Reads the rest, up to 64 KiB, so that the connection can be used again. Rejects if the body is incomplete. */
  finish(): Promise<void>;
}

/**
 * @param options.encoding the content-encoding field; several encodings are refused
 * @param options.from the request in messages, such as `GET https://host/v1/instruments of referenceData`
 * @param options.capSetting the name of the setting that limits the size of the body
 * @param options.signal the request's deadline; when the signal aborts, the body rejects with the signal's reason
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
  // A decoder writes its next output into the memory of its earlier chunks, so this memory must not be freed.
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
      `${from} was answered with more than ${maxBodyBytes} bytes; request fewer items, or raise ${capSetting}.`,
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
    // The iterator has no return method, so that finish() can read the rest after a reader leaves a for-await loop.
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
  // pipeline() requires a callback. The reader gets the error, because pipeline() destroys the decoder with the error.
  return pipeline(stream, decoder, () => {});
}

// True if the data is invalid. False if the data only ends too early: then zlib's code is Z_BUF_ERROR.
function isDataError(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return code !== 'Z_BUF_ERROR' && /^(Z_|ERR_)/.test(code) && !code.startsWith('ERR_STREAM');
}
