import type { Redaction } from '../observability/redaction.ts';
import type { Output } from './output.ts';
import type { Terminal } from './terminal.ts';

/** What a command gets: the process that it runs in, and how it ends otherwise than well. */
export interface CommandContext extends Terminal {
  /** Receives the exit code of a command that did not succeed. */
  readonly exitWith: (code: number) => void;
  /** Knows the secrets that no text may show. */
  readonly redaction: Redaction;
}

/** The options of a command that reads the settings and prints data. */
export interface DataOptions {
  readonly config: string;
  readonly output: Output;
}
