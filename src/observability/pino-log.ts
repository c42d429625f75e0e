import { pino } from 'pino';
import type { Log, LogFields } from '../support/log.ts';
import { createLogValues } from './log-values.ts';
import { createRedaction, type Redaction } from './redaction.ts';

/** Where whole lines go, each with its line break. */
export interface LogDestination {
  write(line: string): void;
}

export interface CreateLogOptions {
  /** Lines below it are not written; at `debug`, errors show their stack. */
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** Coloured lines for people instead of JSON, where pino-pretty is installed (it is not in production). */
  readonly pretty: boolean;
  /** Knows the secrets that must never appear, also those that come later. */
  readonly redaction?: Redaction;
  /**
   * Standard output when absent, written synchronously: no line is lost when the process ends. What cannot be written,
   * as on a full disk, waits until it can, and beyond 1 MiB is lost: nothing depends on it.
   */
  readonly destination?: LogDestination;
}

const LARGEST_BACKLOG_BYTES = 1_048_576;

/** Fields with the names of pino's own would stand twice in the line. */
const OWN_NAMES: Readonly<Record<string, string>> = { level: 'level_', time: 'time_', msg: 'msg_' };

/** A log of one JSON object per line: `level`, `time` (ISO 8601), the fields, `msg`. */
export async function createLog(options: CreateLogOptions): Promise<Log> {
  const { level, redaction = createRedaction(), destination = standardOutput() } = options;
  const format = options.pretty ? await prettyFormat() : undefined;
  const values = createLogValues({ redaction, stacks: level === 'debug' });
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Errors are made fit by createLogValues, as all values are.
      serializers: { err: (value: unknown) => value },
    },
    format ? { write: (line) => destination.write(format(line)) } : destination,
  );
  const write = (name: keyof Log) => (fields: LogFields, message: string) => {
    if (!logger.isLevelEnabled(name)) return;
    const clean = Object.entries(values.fields(fields)).map(([key, value]) => [OWN_NAMES[key] ?? key, value]);
    logger[name](Object.fromEntries(clean), values.text(message));
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

function standardOutput(): LogDestination {
  const output = pino.destination({ dest: 1, sync: true, maxLength: LARGEST_BACKLOG_BYTES });
  // Unheard, an error would be thrown by whoever logs.
  output.on('error', () => {});
  return output;
}

/** Undefined where pino-pretty is not installed. */
async function prettyFormat(): Promise<((line: string) => string) | undefined> {
  try {
    const { prettyFactory } = await import('pino-pretty');
    const format = prettyFactory({
      colorize: true,
      singleLine: true,
      translateTime: 'SYS:HH:MM:ss.l',
      errorLikeObjectKeys: [],
    });
    return (line) => `${format(line).trimEnd().replaceAll('\n', ' ')}\n`;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}
