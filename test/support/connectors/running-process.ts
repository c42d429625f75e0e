import { execFileSync } from 'node:child_process';

/**
 * Whether the process with this number still runs.
 * One that ended but was not yet waited for by its parent (a zombie, which a signal 0 still reaches) does not.
 */
export function isRunning(pid: number): boolean {
  const state = stateOf(pid);
  return state !== '' && !state.startsWith('Z');
}

/** Whether the process stands still until it is sent a SIGCONT. */
export function isStopped(pid: number): boolean {
  return stateOf(pid).startsWith('T');
}

/** As ps shows it; empty when there is no such process. */
function stateOf(pid: number): string {
  try {
    return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return '';
  }
}
