import { createProgressLine, type ProgressLine } from '../local-stack/progress-line.ts';
import { systemClock } from '../support/clock.ts';
import type { Terminal } from './terminal.ts';

/** How far a command is, on stderr: on a terminal one line that changes; elsewhere a line now and then, or none (null). */
export function commandProgress(
  stderr: Terminal['stderr'],
  lineEveryMs: number | null,
): Pick<ProgressLine, 'show' | 'end'> {
  const line = createProgressLine(stderr, () => systemClock.monotonicMs());
  if (stderr.isTTY === true) return line;
  let lastMs = Number.NEGATIVE_INFINITY;
  return {
    show(text) {
      const nowMs = systemClock.monotonicMs();
      if (lineEveryMs === null || nowMs < lastMs + lineEveryMs) return;
      stderr.write(`${text}\n`);
      lastMs = nowMs;
    },
    end() {},
  };
}
