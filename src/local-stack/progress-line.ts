import type { Writable } from 'node:stream';

const PLAIN_INTERVAL_MS = 1_000;

export interface ProgressLine {
  /** Shows this text in place of the one before; on a stream that is no terminal, once a second at most. */
  show(text: string): void;
  /** Writes a line that stays, above the one that is shown. */
  print(text: string): void;
  /** Keeps the last text and goes to the next line. */
  end(): void;
}

/** One line that shows how far something is: rewritten on a terminal, a line now and then elsewhere. */
export function createProgressLine(
  stream: Writable & { readonly isTTY?: boolean; readonly columns?: number },
  monotonicMs: () => number,
): ProgressLine {
  let last = '';
  let shownAtMs = Number.NEGATIVE_INFINITY;
  const isTerminal = stream.isTTY === true;
  return {
    show(text) {
      last = text;
      if (isTerminal) {
        stream.write(`\r\u001b[K${text.slice(0, (stream.columns ?? 80) - 1)}`);
      } else if (monotonicMs() - shownAtMs >= PLAIN_INTERVAL_MS) {
        shownAtMs = monotonicMs();
        stream.write(`${text}\n`);
        last = '';
      }
    },
    print(text) {
      stream.write(
        isTerminal && last !== '' ? `\r\u001b[K${text}\n${last.slice(0, (stream.columns ?? 80) - 1)}` : `${text}\n`,
      );
    },
    end() {
      if (isTerminal) stream.write('\n');
      else if (last !== '') stream.write(`${last}\n`);
      last = '';
    },
  };
}
