import type { Events } from '../observe/events.ts';
import type { BackOff, Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { type FailedAttempt, retry } from '../support/retry.ts';
import { createRunStates } from '../worker/run-states.ts';
import { PRICE_PROCESSOR } from '../worker/target.ts';
import type { RequestedStates } from './requested-states.ts';

const CATCH_UP_BACK_OFF: BackOff = { initialMs: 500, maximumMs: 30_000 };

export interface WantedProcessor {
  /** Runs until the signal aborts, or fails for good. */
  readonly run: (signal: AbortSignal) => Promise<never>;
  readonly states: RequestedStates;
  /** Whether to wait for an operator after a failure, instead of ending. */
  readonly waitsForOperator: boolean;
  readonly events: Pick<Events, 'processorAttemptFailed' | 'processorFailed' | 'processorRests'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/**
 * Lets the price processor run while that is wanted. Paused and stopped are the same to it: it leaves its group, and what
 * it had not committed it does again, from the committed offsets, once it is to run.
 *
 * @returns its name when it has failed and no operator can let it start again; rejects with the signal's reason.
 */
export async function runProcessorAsWanted(options: WantedProcessor): Promise<readonly string[]> {
  const { run, states, events, signal } = options;
  const processor = { name: PRICE_PROCESSOR };
  const runStates = createRunStates({
    units: [processor],
    targets: states.targets,
    restsWhen: ['paused', 'stopped'],
    onRest: (_, wanted) => events.processorRests({ wanted }),
    onFailed: (_, err) => events.processorFailed({ err }),
  });
  await catchUp(options);
  while (options.waitsForOperator || !runStates.allFailed()) {
    await runStates.untilDue(processor, signal);
    const leave = runStates.leaving(processor, signal);
    try {
      await run(leave.signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error !== leave.reason) runStates.failed(processor, error);
    } finally {
      leave.end();
    }
  }
  return [PRICE_PROCESSOR];
}

/** What was wanted before this process began must be known before it does anything. */
function catchUp({ states, events, clock, random, signal }: WantedProcessor): Promise<void> {
  const attemptFailed = (failed: FailedAttempt) => events.processorAttemptFailed({ ...failed, isMember: false });
  return retry(() => states.catchUp(signal), { backOff: CATCH_UP_BACK_OFF, attemptFailed, clock, random, signal });
}
