import type { Writable } from 'node:stream';

const PLAIN_INTERVAL_MS = 1_000;

export interface ProgressLine {
  /** Replaces the shown text. If the stream is not a terminal, writes a new line at most once a second. */
  show(text: string): void;
  /** Prints a line above the progress line, on the same stream or on another stream. */
  print(text: string, to?: Writable): void;
  end(): void;
}

/** Shows progress in one line. On a terminal, this line is rewritten; elsewhere, new lines are added. */
export function createProgressLine(
  stream: Writable & { readonly isTTY?: boolean; readonly columns?: number },
  monotonicMs: () => number,
): ProgressLine {
  let last = '';
  let shownAtMs = Number.NEGATIVE_INFINITY;
  const isTerminal = stream.isTTY === true;
  // The line must fit into one row of the terminal. A longer line is cut between two words, so that no number is cut.
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
