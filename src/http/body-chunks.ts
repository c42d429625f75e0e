import { finished, type Readable } from 'node:stream';

/** What may wait to be taken before the stream is paused: one read of a socket gives 64 KiB. */
const MOST_WAITING = 8;

/**
 * The chunks of a stream as they came. The stream's own iterator joins all that waits, which copies most of a page once
 * more. Nothing is read before the first is asked for.
 *
 * @returns an iterator that rejects with the stream's error, a premature end among them, after what came before it
 */
export function chunksOf(stream: Readable): { next(): Promise<IteratorResult<Uint8Array, undefined>> } {
  const waiting: Uint8Array[] = [];
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

  return {
    async next() {
      if (!isReading) read();
      for (;;) {
        const value = waiting.shift();
        if (value !== undefined) {
          if (waiting.length === 0 && stream.isPaused()) stream.resume();
          return { done: false, value };
        }
        if (outcome !== undefined) {
          if ('error' in outcome) throw outcome.error;
          return { done: true, value: undefined };
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
