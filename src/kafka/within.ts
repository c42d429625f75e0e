import type { Clock } from '../support/clock.ts';
import { untilAborted } from '../support/until-aborted.ts';

/** The outcome of some work, or the error that `late` makes after `ms` milliseconds. The work goes on in that case. */
export async function within<T>(work: Promise<T>, ms: number, clock: Clock, late: () => Error): Promise<T> {
  const deadline = new AbortController();
  const ended = new AbortController();
  clock.sleep(ms, ended.signal).then(
    () => deadline.abort(late()),
    () => {},
  );
  try {
    return await untilAborted(work, deadline.signal);
  } finally {
    ended.abort();
  }
}
