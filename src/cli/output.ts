import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { Option } from 'commander';

/** How a command prints its data. */
export type Output = 'text' | 'json';

/** Control characters, and those that change the direction of writing: none of them may reach a terminal. */
const CONTROL = /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

export function outputOption(): Option {
  return new Option('--output <form>', 'the format of stdout').choices(['text', 'json']).default('text');
}

/** JSON for people and programs, fit for a terminal too; ends with a line break. */
export function jsonText(value: unknown): string {
  return writtenJson(JSON.stringify(value, null, 2));
}

/** The same for JSON that has been written already. */
export function writtenJson(json: string): string {
  // The line breaks are those of the layout: within texts they are escaped already.
  return `${escaped(json, '\n')}\n`;
}

/** One line of JSON, fit for a terminal too. */
export function jsonLine(value: unknown): string {
  return `${escaped(JSON.stringify(value), '')}\n`;
}

/** Writes a part of what may be more than memory holds: resolves once there is room for the next, or once the command is aborted. */
export async function writeAll(stdout: Writable, text: string, signal: AbortSignal): Promise<void> {
  if (!stdout.write(text)) await once(stdout, 'drain', { signal }).catch(() => {});
}

/** Text from elsewhere as it is, but for what could control a terminal, which is escaped; line breaks too. */
export function printable(text: string): string {
  return escaped(text, '');
}

/** Rows as columns of one width each; the last column is as long as it is. Whatever could control a terminal becomes a blank. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replace(CONTROL, ' ')));
  const widths = cells.reduce<number[]>(
    (known, row) => row.map((cell, at) => Math.max(known[at] ?? 0, cell.length)),
    [],
  );
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function escaped(text: string, kept: string): string {
  return text.replace(CONTROL, (found) =>
    found === kept ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
