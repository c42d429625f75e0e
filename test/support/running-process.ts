import { execFileSync } from 'node:child_process';

/**
 * Whether the process with this number still runs.
 * One that ended but was not yet waited for by its parent (a zombie, which a signal 0 still reaches) does not.
 */
export function isRunning(pid: number): boolean {
  try {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return state !== '' && !state.startsWith('Z');
  } catch {
    return false;
  }
}
