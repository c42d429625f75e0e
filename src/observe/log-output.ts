import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { afterwards } from '../support/clock.ts';

export interface LogDestination {
  write(line: string): void;
}

/** The most bytes that are kept for a slow reader; a line that does not fit is dropped. Exported for tests. */
export const LARGEST_BACKLOG_BYTES = 1_048_576;
const RETRY_MS = 100;
/** The length of one wait for a slow reader at the end of the process, and the maximum number of waits. */
const END_WAIT_MS = 10;
const END_WAITS = 100;

/** Writes log lines without ever waiting for their reader. */
export interface LogOutput extends LogDestination {
  dropped(): number;
  /** Writes the kept lines synchronously at the end of the process; waits a second at most. */
  end(): void;
}

export interface LogOutputOptions {
  /** Writes to a file descriptor and returns the number of written bytes. Throws if the descriptor accepts no bytes now. */
  readonly write: (chunk: Buffer) => number;
  /** Returns a line that reports how many lines were dropped before this line. */
  readonly droppedLine: (lines: number) => string;
  readonly later?: (ms: number, action: () => void) => void;
  /** Makes the whole process wait. */
  readonly waitMs?: (ms: number) => void;
}

/**
 * Writes each line at once, so that a killed process loses no line. If the reader has stopped or the disk is full,
 * lines are kept. With each new line and every 100 ms, the output tries to write the kept lines. No code waits for
 * these writes. When there is room again, a line reports the number of dropped lines. Exported for tests.
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

  /** Reports dropped lines only when half of the backlog is free: a slow reader would otherwise get mostly reports. */
  function reportDropped(): void {
    if (dropped === reported || bytes > LARGEST_BACKLOG_BYTES / 2) return;
    if (keep(droppedLine(dropped - reported))) reported = dropped;
  }

  function writeKept(): void {
    flush();
    reportDropped();
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
      reportDropped();
      // After a dropped line, all lines are dropped until `reportDropped` has reported their number.
      if (dropped > reported || !keep(line)) dropped++;
      writeKept();
    },
    dropped: () => dropped,
    end() {
      for (let waits = 0; waits < END_WAITS; waits++) {
        const failure = flush();
        if (failure === undefined && dropped === reported) return;
        if (failure === undefined) reportDropped();
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
 * Opens standard output a second time, because writes to the new descriptor do not block. Writes to `process.stdout` block
 * while a terminal is paused. They also block if another process used the same pipe and has ended. A file is not
 * opened again: writes to a file never block, and a second descriptor would overwrite the file from the start.
 */
function withoutWaiting(fd: number): number {
  const found = fstatSync(fd);
  if (!found.isFIFO() && !found.isCharacterDevice()) return fd;
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // The output belongs to another user, or this is not Linux.
    return fd;
  }
}

function isFull(failure: unknown): boolean {
  return failure instanceof Error && 'code' in failure && (failure.code === 'EAGAIN' || failure.code === 'EBUSY');
}

function waitSynchronously(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
