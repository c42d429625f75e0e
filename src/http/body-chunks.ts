import { finished, type Readable } from 'node:stream';
import { isMarkedAsUntransferable } from 'node:worker_threads';

/** What may wait to be taken before the stream is paused: one read of a socket gives 64 KiB. */
const MOST_WAITING = 8;
/** The collector copes with smaller ones. */
const LEAST_GIVEN_BACK = 32 * 1024;

/** The chunks of a body. A chunk is valid until the next one is asked for: then its memory is given back. */
export type BodyChunks = AsyncIterable<Uint8Array>;

/**
 * The chunks of a stream as they came. The stream's own iterator joins all that waits, which copies most of a page once
 * more. Nothing is read before the first is asked for.
 *
 * @param givesBack whether the stream's chunks are nobody else's, as those of a socket are. Then the memory of each is
 *   given back when the next one is asked for: a page's worth of it would otherwise cost a full collection every page or two.
 * @returns an iterator that rejects with the stream's error, a premature end among them, after what came before it
 */
export function chunksOf(
  stream: Readable,
  givesBack = false,
): { next(): Promise<IteratorResult<Uint8Array, undefined>> } {
  const waiting: Uint8Array[] = [];
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
      if (waiting.length >= MOST_WAITING) stream.pause();
      wake();
    });
  }

  // One read of a socket may hold several chunks.
  function giveBack(next: Uint8Array | undefined): void {
    const buffer = given?.buffer;
    given = next;
    if (!givesBack || buffer === next?.buffer || !(buffer instanceof ArrayBuffer)) return;
    // Node marks the pool of which small buffers are parts.
    if (buffer.byteLength >= LEAST_GIVEN_BACK && !isMarkedAsUntransferable(buffer)) buffer.transfer(0);
  }

  return {
    async next() {
      if (!isReading) read();
      for (;;) {
        const value = waiting.shift();
        if (value !== undefined) {
          if (waiting.length === 0 && stream.isPaused()) stream.resume();
          giveBack(value);
          return { done: false, value };
        }
        if (outcome !== undefined) {
          if ('error' in outcome) throw outcome.error;
          giveBack(undefined);
          return { done: true, value: undefined };
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

/** All bytes of a body, copied. */
export async function collectBytes(body: BodyChunks): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}
