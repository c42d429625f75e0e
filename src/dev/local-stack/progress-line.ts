import type { Writable } from 'node:stream';

const PLAIN_INTERVAL_MS = 1_000;

export interface ProgressLine {
  /** Replaces the shown text. On a stream that is not a terminal, writes at most once a second. */
  show(text: string): void;
  /** Prints a line above the progress line, on this stream or another. */
  print(text: string, to?: Writable): void;
  end(): void;
}

/** One line of progress. A terminal rewrites it; elsewhere a new line appears from time to time. */
export function createProgressLine(
  stream: Writable & { readonly isTTY?: boolean; readonly columns?: number },
  monotonicMs: () => number,
): ProgressLine {
  let last = '';
  let shownAtMs = Number.NEGATIVE_INFINITY;
  const isTerminal = stream.isTTY === true;
  // The rewritten line must fit. It is cut after a word and gets a mark, so no number is cut.
  const fitted = (text: string) => {
    const room = (stream.columns ?? 80) - 1;
    return text.length <= room ? text : `${text.slice(0, text.lastIndexOf(' ', room - 2))} …`;
  };
  return {
    show(text) {
      last = text;
      if (isTerminal) {
        stream.write(`\r\u001b[K${fitted(text)}`);
      } else if (monotonicMs() - shownAtMs >= PLAIN_INTERVAL_MS) {
        shownAtMs = monotonicMs();
        stream.write(`${text}\n`);
        last = '';
      }
    },
    print(text, to = stream) {
      const isRewritten = isTerminal && last !== '';
      if (isRewritten) stream.write('\r\u001b[K');
      to.write(`${text}\n`);
      if (isRewritten) stream.write(fitted(last));
    },
    end() {
      if (isTerminal) stream.write('\n');
      else if (last !== '') stream.write(`${last}\n`);
      last = '';
    },
  };
}
