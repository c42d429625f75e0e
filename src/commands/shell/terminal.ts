import type { Writable } from 'node:stream';
import type { Redaction } from '../../observe/redaction.ts';

/** The process that a command runs in. Data goes to stdout, messages to stderr. */
export interface Terminal {
  readonly arguments: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly signal: AbortSignal;
}

export type Output = 'text' | 'json';

export interface CommandContext extends Terminal {
  /** The path of the settings file. */
  readonly config: string;
  readonly output: Output;
  readonly redaction: Redaction;
  /** Sets the exit code of a command that did not succeed. */
  readonly exitWith: (code: number) => void;
  /** Ends the command with the usage and exit code 2. */
  readonly refuse: (text: string) => never;
}

export const EXIT_CODES = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const;
