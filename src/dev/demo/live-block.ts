import type { Writable } from 'node:stream';
import { columnsOf, folded } from '../../support/columns.ts';

export interface LiveBlock {
  print(text: string): void;
  show(lines: readonly string[]): void;
  /** True if lines are shown that will be rewritten. Then other code must not write below these lines. */
  isShown(): boolean;
}

/** On a terminal, the lines of `show` stay at the bottom, and printed texts scroll above them. Elsewhere, appends all lines. */
export function createLiveBlock(stream: Writable & { readonly isTTY?: boolean; readonly columns?: number }): LiveBlock {
  let shown: readonly string[] = [];
  const isTerminal = stream.isTTY === true;
  const draw = () => shown.map((line) => `${line}\n`).join('');
  // A word that is longer than a row takes several rows, because numbers and addresses are not cut.
  const rowsOf = (line: string) => Math.max(1, Math.ceil(line.length / (stream.columns ?? 80)));
  const erase = () =>
    shown.length === 0 ? '' : `\u001b[${shown.reduce((sum, line) => sum + rowsOf(line), 0)}A\u001b[J`;
  return {
    print(text) {
      const printed = `${folded(text, columnsOf(stream))}\n`;
      stream.write(isTerminal ? `${erase()}${printed}${draw()}` : printed);
    },
    isShown: () => isTerminal && shown.length > 0,
    show(lines) {
      const before = isTerminal ? erase() : '';
      shown = lines.flatMap((line) => folded(line, columnsOf(stream)).split('\n'));
      stream.write(`${before}${draw()}`);
    },
  };
}
