import { finished, type Readable } from 'node:stream';
import { isMarkedAsUntransferable } from 'node:worker_threads';

/** When this number of chunks is buffered, the stream is paused. One chunk of a socket has at most 64 KiB. */
const MOST_WAITING = 8;
const LEAST_GIVEN_BACK = 32 * 1024;

/** The chunks of a body. A chunk is valid only until the next chunk is requested: then its memory is freed. */
export type BodyChunks = AsyncIterable<Uint8Array>;

export interface ChunkReader {
  /** Returns the next chunk. After the last chunk, returns `done` or rejects with the stream's error. */
  next(): Promise<IteratorResult<Uint8Array, undefined>>;
  /**
   * Buffers chunks until the stream has ended or `mostBytes` bytes are buffered. Returns copies of the first and the
   * last buffered bytes, at most `edgeBytes` each; null if the stream has failed or has not ended.
   */
  arrived(mostBytes: number, edgeBytes: number): Promise<BodyEdges | null>;
}

export interface BodyEdges {
  readonly first: Buffer;
  readonly last: Buffer;
}

/**
 * Reads the chunks of a stream without a copy; the stream's own iterator copies most chunks. If `givesBack` is true,
 * the memory of a chunk is freed when the next chunk is read. Then no other code may use the chunk.
 */
export function chunksOf(stream: Readable, givesBack = false): ChunkReader {
  const waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let awaitedBytes = 0;
  let given: Uint8Array | undefined;
  let outcome: { readonly error?: unknown } | undefined;
  let isReading = false;
  let wake: () => void = () => {};

  function read(): void {
    isReading = true;
    finished(stream, { writable: false }, (error) => {
      outcome = error ? { error } : {};
      wake();
    });
    stream.on('data', (chunk: Uint8Array) => {
      waiting.push(chunk);
      waitingBytes += chunk.length;
      if (waiting.length >= MOST_WAITING && waitingBytes >= awaitedBytes) stream.pause();
      wake();
    });
  }

  function giveBack(next: Uint8Array | undefined): void {
    const buffer = given?.buffer;
    given = next;
    if (!givesBack || buffer === next?.buffer || !(buffer instanceof ArrayBuffer)) return;
    if (buffer.byteLength >= LEAST_GIVEN_BACK && !isMarkedAsUntransferable(buffer)) buffer.transfer(0);
  }

  const woken = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });

  return {
    async next() {
      if (!isReading) read();
      for (;;) {
        const value = waiting.shift();
        if (value !== undefined) {
          waitingBytes -= value.length;
          if (waiting.length === 0 && stream.isPaused()) stream.resume();
          giveBack(value);
          return { done: false, value };
        }
        if (outcome !== undefined) {
          if ('error' in outcome) throw outcome.error;
          giveBack(undefined);
          return { done: true, value: undefined };
        }
        await woken();
      }
    },
    async arrived(mostBytes, edgeBytes) {
      awaitedBytes = mostBytes;
      if (!isReading) read();
      while (outcome === undefined && waitingBytes < mostBytes) await woken();
      awaitedBytes = 0;
      if (outcome === undefined || 'error' in outcome) return null;
      return { first: edge(waiting, edgeBytes), last: edge(waiting.toReversed(), edgeBytes, true) };
    },
  };
}

function edge(chunks: readonly Uint8Array[], mostBytes: number, isLast = false): Buffer {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    if (bytes >= mostBytes) break;
    const rest = mostBytes - bytes;
    const part = isLast ? chunk.subarray(Math.max(0, chunk.length - rest)) : chunk.subarray(0, rest);
    parts.push(part);
    bytes += part.length;
  }
  return Buffer.concat(isLast ? parts.reverse() : parts);
}

export async function collectBytes(body: BodyChunks): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
