/** The structured fields of a log line, without secrets. The logger shortens and escapes the values. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The logger for all code: static messages with structured fields. */
export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

/** A log that writes nothing. Commands use this log, because they print their results themselves. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
