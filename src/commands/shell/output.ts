import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { createProgressLine, type ProgressLine } from '../../dev/local-stack/progress-line.ts';
import { CONTROL } from '../../observe/log-values.ts';
import { systemClock } from '../../support/clock.ts';
import { columnsOf, folded } from '../../support/columns.ts';
import type { CommandContext, Terminal } from './terminal.ts';

/** Writes the data of a command to stdout, as JSON or as `text`. */
export function print({ stdout, output }: Pick<CommandContext, 'stdout' | 'output'>, data: unknown, text: string) {
  stdout.write(output === 'json' ? writtenJson(JSON.stringify(data, null, 2)) : text);
}

/** Makes JSON text safe for a terminal; ends with a line break. */
export function writtenJson(json: string): string {
  // JSON escapes the line breaks in texts. So the remaining line breaks belong to the layout, and are kept.
  return `${escaped(json, '\n')}\n`;
}

export function jsonLine(value: unknown): string {
  return `${escaped(JSON.stringify(value), '')}\n`;
}

/** Writes one part of a large output. Resolves when stdout can take the next part, or when the signal aborts. */
export async function writeAll(stdout: Writable, text: string, signal: AbortSignal): Promise<void> {
  if (!stdout.write(text)) await once(stdout, 'drain', { signal }).catch(() => {});
}

/** Escapes all characters that could control a terminal, including line breaks. */
export function printable(text: string): string {
  return escaped(text, '');
}

/** Aligns the columns of rows; no line ends with blanks. Control characters become blanks. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replace(CONTROL, ' ')));
  const widths = cells.reduce<number[]>(
    (known, row) => row.map((cell, at) => Math.max(known[at] ?? 0, cell.length)),
    [],
  );
  const lines = cells.map((row) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  '));
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

/** A table with column names; on a narrow terminal, a line for each value of a row. */
export function listTable(stdout: Terminal['stdout'], header: readonly string[], rows: readonly (readonly string[])[]) {
  if (rows.length === 0) return '';
  const table = textTable([header, ...rows]);
  const columns = columnsOf(stdout);
  if (table.split('\n').every(({ length }) => length <= columns)) return table;
  const named = rows.map((row) => row.map((value, at) => [header[at] ?? '', value]).filter(([, value]) => value));
  return named.map((lines) => folded(textTable(lines), columns)).join('\n');
}

function escaped(text: string, kept: string): string {
  return text.replace(CONTROL, (found) =>
    found === kept ? found : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Shows progress on stderr: on a terminal, one line that changes; else a line every `lineEveryMs` (null: no line). */
export function commandProgress(
  stderr: Terminal['stderr'],
  lineEveryMs: number | null,
): Pick<ProgressLine, 'show' | 'end'> {
  const line = createProgressLine(stderr, () => systemClock.monotonicMs());
  if (stderr.isTTY === true) return line;
  let lastMs = Number.NEGATIVE_INFINITY;
  return {
    show(text) {
      const nowMs = systemClock.monotonicMs();
      if (lineEveryMs === null || nowMs < lastMs + lineEveryMs) return;
      stderr.write(`${text}\n`);
      lastMs = nowMs;
    },
    end() {},
  };
}
