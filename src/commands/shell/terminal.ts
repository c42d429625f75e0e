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

/** Exported for tests. */
export const EXIT_CODE_MEANINGS: Readonly<Record<keyof typeof EXIT_CODES, string>> = {
  ok: 'Done. These commands are done when they are stopped: run, tail, demo, simulate and status --watch.',
  failed:
    'The command failed or found a problem. The last lines on stderr name the problem and the remedy. For status: the connector is not ready; stdout has the reasons.',
  usage: 'The arguments or the settings are wrong; nothing was started.',
  interrupted:
    'SIGINT or SIGTERM ended the command before it was done: its result is not known. After Ctrl-C, npx always ends with this code.',
};
