import { untilAborted } from '../support/until-aborted.ts';

/** As in Kafka Connect: a paused source keeps its task; a stopped source has no task. Both keep the offset. */
export type TargetState = (typeof TARGET_STATES)[number];
export const TARGET_STATES = ['running', 'paused', 'stopped'] as const;

/** The state that operators request for a source, or for the price processor. */
export interface WorkerTarget {
  readonly state: TargetState;
  /** An operator's restart or stop changes this number. Then the source or the processor starts again. */
  readonly restartEpoch: number;
  /** When this number changes, a failed source or processor starts again. A change of `restartEpoch` changes it too. */
  readonly failedRestartEpoch: number;
  /** Aborts when the target changes. Then this object is out of date. */
  readonly changed: AbortSignal;
}

export interface WorkerTargets {
  of(name: string): WorkerTarget;
}

/** Resolves when `holds` is true for the current target; rejects with the signal's reason. */
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

/** The name of the price processor in the states topic, in Kafka Connect's interface and in commands. */
export const PRICE_PROCESSOR = 'prices';

/** The source name in the headers of a backfill's records. No configured source may have this name. */
export const BACKFILL = 'backfill';
