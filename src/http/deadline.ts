/** A time limit for one piece of work, joined with the caller's own wish to stop. */
export interface Deadline {
  /** Aborts when the time is over (reason: the given error) or when the caller aborts (reason: the caller's). */
  readonly signal: AbortSignal;
  /** Must be called when the work is done; releases the timer and the caller's signal. */
  end(): void;
}

/**
 * @param outer the caller's signal; the deadline is over as soon as it aborts
 * @param expired makes the error for "the time is over"
 */
export function openDeadline(timeoutMs: number, outer: AbortSignal, expired: () => Error): Deadline {
  const controller = new AbortController();
  const timer = AbortSignal.timeout(timeoutMs);
  const onTimer = () => controller.abort(expired());
  const onOuter = () => controller.abort(outer.reason);
  timer.addEventListener('abort', onTimer, { once: true });
  outer.addEventListener('abort', onOuter, { once: true });
  if (outer.aborted) onOuter();
  return {
    signal: controller.signal,
    end() {
      timer.removeEventListener('abort', onTimer);
      outer.removeEventListener('abort', onOuter);
    },
  };
}
