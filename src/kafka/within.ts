import type { Clock } from '../support/clock.ts';

/**
 * The outcome of some work, or a rejection with the signal's reason as soon as the signal aborts. The work itself goes
 * on in the latter case: kafkajs cannot be interrupted, only left behind.
 */
export async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    work.catch(() => {});
    aborted.promise.catch(() => {});
  }
}

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
