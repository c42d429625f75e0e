import { pino } from 'pino';
import type { Log, LogFields } from '../support/log.ts';
import { type LogDestination, openStandardOutput } from './log-output.ts';
import { factsText } from './log-text.ts';
import { createLogValues } from './log-values.ts';
import { createRedaction, type Redaction } from './redaction.ts';

export interface UnwaitingLog extends Log {
  /** How many lines were dropped since the start, as the reader had stopped. */
  droppedLines(): number;
}

export interface CreateLogOptions {
  /** Lines below it are not written; at `debug`, errors show their stack. */
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** Lines for people, where pino-pretty is installed (it is not in production), or JSON. */
  readonly format: 'text' | 'json';
  /** True colours the lines for people, as on a terminal; else they have no escape sequence. */
  readonly isColoured?: boolean;
  /** Knows the secrets that must never appear, also those that come later. */
  readonly redaction?: Redaction;
  /** Standard output when absent, for whose reader nothing waits. */
  readonly destination?: LogDestination;
}

/** Fields with the names of pino's own would appear twice in the line. */
const OWN_NAMES: Readonly<Record<string, string>> = { level: 'level_', time: 'time_', msg: 'msg_' };

const asItIs = (line: string) => line;

/** A log of one JSON object per line: `level`, `time` (ISO 8601), the fields, `msg`. */
export async function createLog(options: CreateLogOptions): Promise<UnwaitingLog> {
  const { level, redaction = createRedaction() } = options;
  const format = options.format === 'text' ? await textFormat(options.isColoured === true) : asItIs;
  const output = options.destination ? null : openStandardOutput((lines) => format(droppedLine(lines)));
  const destination = options.destination ?? output;
  const values = createLogValues({ redaction, stacks: level === 'debug' });
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // createLogValues makes errors safe, as all values.
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

async function textFormat(colorize: boolean): Promise<(line: string) => string> {
  try {
    const { prettyFactory } = await import('pino-pretty');
    const format = prettyFactory({
      colorize,
      singleLine: true,
      translateTime: 'SYS:HH:MM:ss.l',
      errorLikeObjectKeys: [],
      hideObject: true,
      messageFormat({ level: _, time: __, msg, ...fields }, ___, ____, { colors }) {
        const facts = factsText(fields);
        return facts === '' ? String(msg) : `${msg} ${colors.gray(facts)}`;
      },
    });
    return (line) => `${format(line).trimEnd().replaceAll('\n', ' ')}\n`;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return plainLine;
    throw error;
  }
}

function plainLine(line: string): string {
  const { level, time, msg, ...fields } = JSON.parse(line);
  return `${`${time.replace('T', ' ')} ${level} ${msg} ${factsText(fields)}`.trimEnd()}\n`;
}
