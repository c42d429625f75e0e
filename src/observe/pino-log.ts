import { styleText } from 'node:util';
import { pino } from 'pino';
import type { Log, LogFields } from '../support/log.ts';
import { type LogDestination, openStandardOutput } from './log-output.ts';
import { createLogValues } from './log-values.ts';
import { createRedaction, type Redaction } from './redaction.ts';

export interface CreateLogOptions {
  /** Lines below this level are not written; at `debug`, errors show their stack. */
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly format: 'text' | 'json';
  /** True adds colours to text lines, as on a terminal; otherwise lines have no escape sequences. */
  readonly isColoured?: boolean;
  /** Knows the secrets that must never appear, including secrets that are registered later. */
  readonly redaction?: Redaction;
  /** The output for lines. By default: standard output, written without waiting for the reader. */
  readonly destination?: LogDestination;
}

/** pino writes the fields `level`, `time` and `msg` itself. Fields of ours with these names get the names below. */
const OWN_NAMES: Readonly<Record<string, string>> = { level: 'level_', time: 'time_', msg: 'msg_' };

const COLOURS = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const;

/**
 * Creates a log. With the format `json`, each line is an object: `level`, `time` (ISO 8601), the fields, `msg`.
 * `droppedLines`: the number of lines that were dropped since the start, because the reader had stopped.
 */
export function createLog(options: CreateLogOptions): Log & { droppedLines(): number } {
  const { level, isColoured = false, redaction = createRedaction() } = options;
  const format = (line: string) => (options.format === 'text' ? textLine(line, isColoured) : line);
  const output = options.destination ? null : openStandardOutput((lines) => format(droppedLine(lines)));
  const destination = options.destination ?? output;
  const values = createLogValues(redaction, level === 'debug');
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // pino must not convert errors: createLogValues has already converted all values.
      serializers: { err: (value: unknown) => value },
    },
    { write: (line) => destination?.write(format(line)) },
  );
  const write = (name: keyof Log) => (fields: LogFields, message: string) => {
    if (!logger.isLevelEnabled(name)) return;
    const clean = Object.entries(values.fields(fields)).map(([key, value]) => [OWN_NAMES[key] ?? key, value]);
    logger[name](Object.fromEntries(clean), values.text(message));
  };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    droppedLines: () => output?.dropped() ?? 0,
  };
}

function droppedLine(lines: number): string {
  const msg = 'log lines were dropped here: the reader of the log had stopped';
  return `{"level":"warn"${pino.stdTimeFunctions.isoTime()},"lines":${lines},"msg":"${msg}"}\n`;
}

function textLine(line: string, isColoured: boolean): string {
  const { level, time, msg, ...fields } = JSON.parse(line) as { level: keyof Log; time: string; msg: string };
  const paint = (colour: (typeof COLOURS)[keyof Log], text: string) =>
    isColoured ? styleText(colour, text, { validateStream: false }) : text;
  const parts = [time.replace('T', ' '), paint(COLOURS[level], level), msg, paint('gray', factsText(fields))];
  return `${parts.join(' ').trimEnd()}\n`;
}

/** The fields of a line for people, without nulls: `source=instruments rows=1000`. */
function factsText(fields: Readonly<Record<string, unknown>>): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${valueText(value)}`)
    .join(' ');
}

function valueText(value: unknown): string {
  if (isError(value)) return errorText(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return typeof value === 'string' && !/^[^\s"=]+$/.test(text) ? JSON.stringify(text) : text;
}

interface LoggedError {
  readonly type: unknown;
  readonly message: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly action?: unknown;
  readonly fields?: object;
}

function isError(value: unknown): value is LoggedError {
  return typeof value === 'object' && value !== null && 'message' in value && 'type' in value;
}

function errorText(error: LoggedError): string {
  const { type, code = type, message, cause, action: _, fields, ...others } = error;
  const because = isError(cause) ? ` (because of ${errorText(cause)})` : '';
  return `${code}: ${message} ${factsText({ ...fields, ...others })}`.trimEnd() + because;
}
