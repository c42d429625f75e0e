import type { Writable } from 'node:stream';

/** What a command sees of the process that it runs in. Data goes to stdout, talk to stderr. */
export interface Terminal {
  readonly arguments: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  /** Aborts when the process is asked to stop. */
  readonly signal: AbortSignal;
}

/** The exit codes of every command. */
export const EXIT_CODES = {
  ok: 0,
  /** It could not go on; the last line on stderr says why and what to do. */
  failed: 1,
  /** The arguments or the settings are wrong; nothing was started. */
  usage: 2,
} as const;
