/** What this folder tells a log: static messages with structured fields; never a secret, never an address with query. */
export interface HttpLog {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}
