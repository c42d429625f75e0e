import { type CreateLogOptions, createLog } from '../../../src/observe/pino-log.ts';

/** A log whose lines are kept. */
export function keptLog(options: Partial<CreateLogOptions> = {}) {
  const lines: string[] = [];
  const log = createLog({
    level: 'info',
    format: 'json',
    destination: { write: (line) => void lines.push(line) },
    ...options,
  });
  // biome-ignore lint/suspicious/noExplicitAny: tests look at the fields that they wrote.
  const parsed = (): any[] => lines.map((line) => JSON.parse(line));
  return { log, lines, parsed };
}
