import type { Clock } from './clock.ts';
import { untilAborted } from './until-aborted.ts';

interface Deadline {
  /** Aborts with the error of `late` when the time is over, or with the reason of `outer` when `outer` aborts. */
  readonly signal: AbortSignal;
  /** Must be called after the work: stops the timer and removes the listeners of the signals. */
  end(): void;
}

interface DeadlineSignals {
  /** When this signal aborts, the deadline's signal aborts at once, with the same reason. */
  readonly outer?: AbortSignal;
  /** The time starts when this signal aborts; absent: the time starts now. */
  readonly from?: AbortSignal;
}

export function openDeadline(
  ms: number,
  clock: Clock,
  late: () => Error,
  { outer, from }: DeadlineSignals = {},
): Deadline {
  const over = new AbortController();
  const ended = new AbortController();
  const onOuter = () => over.abort(outer?.reason);
  const start = () => {
    clock.sleep(ms, ended.signal).then(
      () => over.abort(late()),
      () => {},
    );
  };
  outer?.addEventListener('abort', onOuter, { once: true });
  if (outer?.aborted) onOuter();
  else if (from === undefined || from.aborted) start();
  else from.addEventListener('abort', start, { once: true });
  return {
    signal: over.signal,
    end() {
      outer?.removeEventListener('abort', onOuter);
      from?.removeEventListener('abort', start);
      ended.abort();
    },
  };
}

/** Returns the outcome of the work, or throws the error of `late` after `ms` milliseconds. The work is not stopped. */
export async function within<T>(work: Promise<T>, ms: number, clock: Clock, late: () => Error): Promise<T> {
  const deadline = openDeadline(ms, clock, late);
  try {
    return await untilAborted(work, deadline.signal);
  } finally {
    deadline.end();
  }
}

/** Aborts its signal after `stallMs` milliseconds without a call of `moved`. `end` stops the timer. */
export class StallWatch {
  readonly #stalled = new AbortController();
  readonly #ended = new AbortController();
  readonly #clock: Clock;
  #movedAtMs: number;
  #held = 0;

  constructor(stallMs: number, clock: Clock) {
    this.#clock = clock;
    this.#movedAtMs = clock.monotonicMs();
    this.#watch(stallMs).catch(() => {});
  }

  get signal(): AbortSignal {
    return this.#stalled.signal;
  }

  moved(): void {
    this.#movedAtMs = this.#clock.monotonicMs();
  }

  /** Pauses the watch until `wait` resolves, because a pause of the caller is not a stall. */
  async whileHeld(wait: Promise<void>): Promise<void> {
    this.#held += 1;
    try {
      await wait;
    } finally {
      this.#held -= 1;
      this.moved();
    }
  }

  end(): void {
    this.#ended.abort();
  }

  async #watch(stallMs: number): Promise<void> {
    for (;;) {
      if (this.#held > 0) this.moved();
      const leftMs = this.#movedAtMs + stallMs - this.#clock.monotonicMs();
      if (leftMs <= 0) break;
      await this.#clock.sleep(leftMs, this.#ended.signal);
    }
    this.#stalled.abort(new Error(`nothing came for ${stallMs} ms`));
  }
}
