import { spawn } from 'node:child_process';
import type { StackEnvironment } from './stack-context.ts';

/** Ends the watch: what it watched over is gone. */
export type EndWatch = () => void;

/**
 * Runs a shell script after this process was killed hard and could not tidy up itself. The script waits for the end of
 * its stdin, a pipe from us that the system closes when we are gone.
 *
 * Without /bin/sh (Windows) there is no watch, and what was started outlives a hard kill.
 *
 * @param script what to do then; its arguments are "$@".
 */
export function runWhenOrphaned(script: string, args: readonly string[], env: StackEnvironment = {}): EndWatch {
  const watch = spawn('/bin/sh', ['-c', `read -r _\n${script}`, 'orphan-watch', ...args], {
    // A session of its own: a Ctrl-C in the terminal may not end it before us.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...env },
  });
  watch.once('error', () => undefined);
  watch.stdin?.once('error', () => undefined);
  // Neither the shell nor the pipe may keep this process alive.
  watch.unref();
  (watch.stdin as { unref?: () => void } | null)?.unref?.();
  return () => watch.kill('SIGKILL');
}
