import { untilAborted } from '../support/until-aborted.ts';
import type { TargetState } from './source-state.ts';

/** What is wanted of a source now. */
export interface SourceTarget {
  readonly state: TargetState;
  /** Another number means that the source shall start anew: it was asked to restart, or was stopped meanwhile. */
  readonly generation: number;
  /** Another number means that a source that has failed shall start anew; it changes with the generation too. */
  readonly chance: number;
  /** Aborts when any of this changes: whoever waits then looks again. */
  readonly changed: AbortSignal;
}

/** What operators want of the sources that run here. */
export interface SourceTargets {
  of(source: string): SourceTarget;
}

/** Waits until a source's target holds what is asked for; rejects with the signal's reason. */
export async function untilTarget(
  target: () => SourceTarget,
  holds: (target: SourceTarget) => boolean,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  for (let now = target(); !holds(now); now = target()) {
    const { changed } = now;
    const change = new Promise<void>((resolve) => changed.addEventListener('abort', () => resolve(), { once: true }));
    await untilAborted(change, signal);
  }
}
