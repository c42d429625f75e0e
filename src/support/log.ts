/** Structured facts of a log line. Values are capped and escaped by the logger; secrets never go in. */
export type LogFields = Readonly<Record<string, unknown>>;

/** The logger of the rest of the code: static messages with structured fields. */
export interface Log {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
}

/** For commands, which report what they find by themselves. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
