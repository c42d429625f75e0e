import { untilAborted } from '../support/until-aborted.ts';

/** Kafka Connect's target states: a paused source keeps its task and its place in it, a stopped one gives them up. */
export type TargetState = (typeof TARGET_STATES)[number];
export const TARGET_STATES = ['running', 'paused', 'stopped'] as const;

/** The state that operators want of a source, or of the price processor. */
export interface WorkerTarget {
  readonly state: TargetState;
  /** Another number means that it shall start again: it was asked to restart, or was stopped meanwhile. */
  readonly restartEpoch: number;
  /** Another number means that it shall start again if it has failed; it changes with the restart epoch too. */
  readonly failedRestartEpoch: number;
  /** Aborts when any of this changes: then the target is to be read again. */
  readonly changed: AbortSignal;
}

export interface WorkerTargets {
  of(name: string): WorkerTarget;
}

export async function untilTarget(
  target: () => WorkerTarget,
  holds: (target: WorkerTarget) => boolean,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  for (let now = target(); !holds(now); now = target()) {
    const { changed } = now;
    const change = new Promise<void>((resolve) => changed.addEventListener('abort', () => resolve(), { once: true }));
    await untilAborted(change, signal);
  }
}

/** The name of the price processor among the sources: in the states topic, in Kafka Connect's interface, in commands. */
export const PRICE_PROCESSOR = 'prices';

/** The source in the headers of what a backfill writes. No source may have its name. */
export const BACKFILL = 'backfill';
