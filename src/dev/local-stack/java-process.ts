import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import type { Clock } from '../../support/clock.ts';
import type { JavaRuntime } from './java-runtime.ts';
import type { StackEnvironment } from './stack-context.ts';

const STOP_TIMEOUT_MS = 10_000;

/** Flags for a quick start and a small heap, because these programs run for minutes only. */
const QUICK_START_FLAGS = ['-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xms64m'];

/** A shell script that ends an orphaned program. The arguments: the program's process id, then the paths to remove. */
const END_ORPHAN = `
  kill -TERM "$1" 2>/dev/null
  tries=0
  while kill -0 "$1" 2>/dev/null && [ "$tries" -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -KILL "$1" 2>/dev/null
  shift
  [ "$#" -eq 0 ] || rm -rf -- "$@"`;

interface JavaProcessOptions {
  readonly java: JavaRuntime;
  /** The arguments after the memory flags: class path, main class or jar, and their arguments. */
  readonly arguments: readonly string[];
  readonly maximumHeapMb: number;
  readonly folder: string;
  readonly logFile: string;
  /** Paths that are removed if this process is killed by SIGKILL and the program ends as an orphan. */
  readonly removeWithOrphan: readonly string[];
  readonly clock: Clock;
}

/** A Java program that this process started. Ctrl-C in the terminal reaches only this process. */
export interface JavaProcess {
  readonly pid: number;
  /** The reason if the program ended by itself; undefined while the program runs, and after `stop` or `kill`. */
  ended(): string | undefined;
  /** Sends SIGTERM, and SIGKILL after a time limit. Resolves when the program has ended. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

/** Starts a Java program. Resolves when the process exists, long before the program is ready. */
export async function startJavaProcess(options: JavaProcessOptions): Promise<JavaProcess> {
  const log = openSync(options.logFile, 'a');
  const heap = `-Xmx${options.maximumHeapMb}m`;
  const child = spawn(options.java.program, [...QUICK_START_FLAGS, heap, ...options.arguments], {
    cwd: options.folder,
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const pid = await startedPid(child);
  const endWatch = runWhenOrphaned(END_ORPHAN, [String(pid), ...options.removeWithOrphan]);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => {
      endWatch();
      resolve();
    });
  });
  let endedByUs = false;
  const isGone = () => child.exitCode !== null || child.signalCode !== null;
  const ended = () => (isGone() && !endedByUs ? endOf(child, options.logFile) : undefined);
  const kill = () => {
    endedByUs = true;
    child.kill('SIGKILL');
    return exited;
  };
  const stop = async () => {
    if (isGone()) return;
    endedByUs = true;
    const inTime = new AbortController();
    child.kill('SIGTERM');
    const tooLate = options.clock.sleep(STOP_TIMEOUT_MS, inTime.signal).then(kill, () => undefined);
    await exited;
    inTime.abort();
    await tooLate;
  };
  return { pid, ended, stop, kill };
}

function startedPid(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve(child.pid ?? 0));
  });
}

function endOf(child: ChildProcess, logFile: string): string {
  const how = child.signalCode === null ? `code ${child.exitCode}` : `signal ${child.signalCode}`;
  return `${basename(logFile, '.log')} ended with ${how}; ${lastWords(logFile)}`;
}

/** The last line of a log outside stack traces, shortened, with the path of the log. Exported for tests. */
export function lastWords(logFile: string): string {
  const lines = readFileSync(logFile, 'utf8').split('\n');
  const last = lines.findLast((line) => line.trim() !== '' && !/^\s+(at |\.\.\. \d+ more)/.test(line)) ?? 'nothing';
  return `its last line: ${last.trim().slice(0, 200)} (log: ${logFile})`;
}

/** Ends the shell of `runWhenOrphaned`, so that its script never runs. */
export type EndWatch = () => void;

/**
 * Runs a shell script if this process is killed by SIGKILL. A shell reads a pipe from this process. When the pipe ends,
 * the shell runs the script. Without /bin/sh (Windows), the script never runs.
 * @param script the text of the script; its arguments are "$@"
 */
export function runWhenOrphaned(script: string, args: readonly string[], env: StackEnvironment = {}): EndWatch {
  const watch = spawn('/bin/sh', ['-c', `read -r _\n${script}`, 'orphan-watch', ...args], {
    // A separate process group, so that Ctrl-C in the terminal does not end the script before this process.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...env },
  });
  watch.once('error', () => undefined);
  watch.stdin?.once('error', () => undefined);
  // The shell and the pipe must not keep this process alive.
  watch.unref();
  (watch.stdin as { unref?: () => void } | null)?.unref?.();
  return () => watch.kill('SIGKILL');
}
