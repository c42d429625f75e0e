import type { Writable } from 'node:stream';

export interface LiveBlock {
  /** Writes a line that stays, above the block. */
  print(text: string): void;
  /** Shows these lines in place of those before. */
  show(lines: readonly string[]): void;
  /** Whether lines are shown that are to be rewritten: then nothing else may be written below them. */
  isShown(): boolean;
}

/** On a terminal: some lines at the bottom that are rewritten in place, while others scroll by above. Elsewhere they are appended. */
export function createLiveBlock(stream: Writable & { readonly isTTY?: boolean; readonly columns?: number }): LiveBlock {
  let shown: readonly string[] = [];
  const isTerminal = stream.isTTY === true;
  // A line that wraps would count as one and take two: the block is cut at the terminal's width.
  const cut = (line: string) => (isTerminal ? line.slice(0, (stream.columns ?? 80) - 1) : line);
  const draw = () => shown.map((line) => `${cut(line)}\n`).join('');
  const erase = () => (shown.length === 0 ? '' : `\u001b[${shown.length}A\u001b[J`);
  return {
    print: (text) => void stream.write(isTerminal ? `${erase()}${text}\n${draw()}` : `${text}\n`),
    isShown: () => isTerminal && shown.length > 0,
    show(lines) {
      const before = isTerminal ? erase() : '';
      shown = lines;
      stream.write(`${before}${draw()}`);
    },
  };
}
