import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { afterwards } from '../support/clock.ts';

export interface LogDestination {
  write(line: string): void;
}

/** The most bytes kept for a slow reader; a line that does not fit is dropped. Exported for tests. */
export const LARGEST_BACKLOG_BYTES = 1_048_576;
const RETRY_MS = 100;
/** How long the end of the process waits in total for a slow reader. */
const END_WAIT_MS = 10;
const END_WAITS = 100;

/** Writes log lines without ever waiting for their reader. */
export interface LogOutput extends LogDestination {
  dropped(): number;
  /** Writes the rest synchronously, waiting a second at most: for the end of the process. */
  end(): void;
}

export interface LogOutputOptions {
  /** Writes to a file descriptor without waiting, as fs.writeSync does; returns how many bytes it took. */
  readonly write: (chunk: Buffer) => number;
  /** The line that reports how many lines were dropped just before it. */
  readonly droppedLine: (lines: number) => string;
  readonly later?: (ms: number, action: () => void) => void;
  /** Makes the whole process wait. */
  readonly waitMs?: (ms: number) => void;
}

/**
 * Lines are written at once, so that none is lost when the process is killed. Where the reader has stopped, or the
 * disk is full, they are kept, and are tried again with each line and every 100 ms; nothing waits for them. As soon as
 * there is room again, a line says how many were dropped. A reader that is gone may come back, as that of a named pipe.
 * Exported for tests.
 */
export function createLogOutput(options: LogOutputOptions): LogOutput {
  const { write, droppedLine, later = afterwards, waitMs = waitSynchronously } = options;
  const backlog: Buffer[] = [];
  let bytes = 0;
  let dropped = 0;
  let reported = 0;
  let isRetryDue = false;

  function keep(line: string): boolean {
    const chunk = Buffer.from(line);
    if (bytes + chunk.length > LARGEST_BACKLOG_BYTES) return false;
    backlog.push(chunk);
    bytes += chunk.length;
    return true;
  }

  function flush(): unknown {
    try {
      for (let [chunk] = backlog; chunk !== undefined; [chunk] = backlog) {
        const written = write(chunk);
        bytes -= written;
        if (written < chunk.length) backlog[0] = chunk.subarray(written);
        else backlog.shift();
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** Not before the reader has read a good part; otherwise a slow reader would get little but these lines. */
  function tellOfDropped(): void {
    if (dropped === reported || bytes > LARGEST_BACKLOG_BYTES / 2) return;
    if (keep(droppedLine(dropped - reported))) reported = dropped;
  }

  function writeKept(): void {
    flush();
    tellOfDropped();
    if (flush() === undefined || isRetryDue) return;
    isRetryDue = true;
    later(RETRY_MS, () => {
      isRetryDue = false;
      writeKept();
    });
  }

  return {
    write(line) {
      flush();
      tellOfDropped();
      // After a gap, no line is kept before the gap is reported: so its line is at the place of the gap.
      if (dropped > reported || !keep(line)) dropped++;
      writeKept();
    },
    dropped: () => dropped,
    end() {
      for (let waits = 0; waits < END_WAITS; waits++) {
        const failure = flush();
        if (failure === undefined && dropped === reported) return;
        if (failure === undefined) tellOfDropped();
        else if (isFull(failure)) waitMs(END_WAIT_MS);
        else return;
      }
    },
  };
}

export function openStandardOutput(droppedLine: (lines: number) => string): LogOutput {
  const fd = withoutWaiting(process.stdout.fd);
  const output = createLogOutput({ write: (chunk) => writeSync(fd, chunk), droppedLine });
  process.once('exit', () => output.end());
  return output;
}

/**
 * Opens the same output again in a way that never waits. Access to `process.stdout` sets that for pipes and sockets, until
 * another process that shares them ends and resets it; and a paused terminal makes a writer wait. After a second opening,
 * both have a setting of our own. A file needs none, and would be written from its beginning.
 */
function withoutWaiting(fd: number): number {
  const found = fstatSync(fd);
  if (!found.isFIFO() && !found.isCharacterDevice()) return fd;
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // It belongs to another user, or this is not Linux.
    return fd;
  }
}

function isFull(failure: unknown): boolean {
  return failure instanceof Error && 'code' in failure && (failure.code === 'EAGAIN' || failure.code === 'EBUSY');
}

function waitSynchronously(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
