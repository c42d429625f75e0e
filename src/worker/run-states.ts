import { ConnectorError } from '../errors.ts';
import { Pulse } from '../support/pulse.ts';
import { type TargetState, untilTarget, type WorkerTarget, type WorkerTargets } from './target.ts';

type Rest = Exclude<TargetState, 'running'>;

interface Named {
  readonly name: string;
}

/** Knows which units have verified topics. A unit is a source or the price processor. */
export interface UnitTopics<Unit> {
  areVerified(unit: Unit): boolean;
  /** Verifies the topics again; rejects with a ConnectorError if they do not meet the requirements. */
  verify(unit: Unit, signal: AbortSignal): Promise<void>;
  /** Marks topics as replaced. A unit with such a topic runs only after its topics are verified again. */
  doubt(topics: readonly string[], why: ConnectorError): void;
}

export interface RunStatesOptions<Unit extends Named> {
  readonly units: readonly Unit[];
  readonly targets: WorkerTargets;
  readonly restsWhen: readonly Rest[];
  readonly topics?: UnitTopics<Unit> | undefined;
  readonly held?: {
    readonly failed: (unit: Unit, how: { readonly isCertain: boolean; readonly err: Error }) => void;
    isHeld(unit: Unit): boolean;
    /** Resolves after the back-off. Rejects with a ConnectorError (action `stopSource`) if the unit cannot run. */
    untilFree(unit: Unit, signal: AbortSignal): Promise<void>;
  };
  readonly onRest: (unit: Unit, state: Rest) => void;
  readonly onFailed: (unit: Unit, error: unknown) => void;
}

export type RunStates<Unit extends Named> = ReturnType<typeof createRunStates<Unit>>;

/**
 * Decides which units may run. A unit may not run in three cases: its state is in `restsWhen`, it has failed since the
 * last restart, or it waits for a back-off. A unit fails if one of its topics is refused. If the topics of a unit
 * cannot be verified now, the unit waits for a back-off.
 */
export function createRunStates<Unit extends Named>(options: RunStatesOptions<Unit>) {
  const { units, targets, restsWhen, topics, held, onRest, onFailed } = options;
  const failedIn = new Map<Unit, number>();
  const resting = new Map<Unit, Rest>();
  const targetOf = (unit: Unit) => targets.of(unit.name);
  const restOf = (target: WorkerTarget) => restsWhen.find((state) => state === target.state);
  const hasFailed = (unit: Unit) => failedIn.get(unit) === targetOf(unit).failedRestartEpoch;
  const failure = new Pulse();
  const failed = (unit: Unit, error: unknown) => {
    failedIn.set(unit, targetOf(unit).failedRestartEpoch);
    onFailed(unit, error);
    failure.notify();
  };
  const isWanted = (unit: Unit) => restOf(targetOf(unit)) === undefined && !hasFailed(unit);
  const isFree = (unit: Unit) => isWanted(unit) && !held?.isHeld(unit);
  const isVerified = (unit: Unit) => topics?.areVerified(unit) !== false;
  const isDue = (unit: Unit) => isFree(unit) && isVerified(unit);
  const verify = async (unit: Unit, signal: AbortSignal) => {
    try {
      await topics?.verify(unit, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ConnectorError)) throw error;
      if (error.action === 'retry') held?.failed(unit, { isCertain: true, err: error });
      else failed(unit, error);
    }
  };
  const noteRest = (unit: Unit) => {
    const rest = restOf(targetOf(unit));
    if (rest === undefined) resting.delete(unit);
    else if (!hasFailed(unit) && resting.get(unit) !== rest) {
      resting.set(unit, rest);
      onRest(unit, rest);
    }
  };
  const untilDue = async (unit: Unit, signal: AbortSignal) => {
    do {
      const isWantedNow = () => {
        noteRest(unit);
        return isWanted(unit);
      };
      await untilTarget(() => targetOf(unit), isWantedNow, signal);
      await held?.untilFree(unit, signal).catch((error: unknown) => {
        if (!(error instanceof ConnectorError) || error.action !== 'stopSource') throw error;
        failed(unit, error);
      });
      if (isFree(unit) && !isVerified(unit)) await verify(unit, signal);
    } while (!isDue(unit));
  };
  return {
    isDue,
    untilDue,
    /** Resolves when one unit may run, or when one unit fails before it runs. */
    async untilAnyIsDue(signal: AbortSignal): Promise<void> {
      const over = new AbortController();
      const within = AbortSignal.any([signal, over.signal]);
      const anyDue = units.map((unit) => untilDue(unit, within));
      await Promise.race([...anyDue, failure.next(within)]).finally(() => over.abort());
    },
    /** Called when a unit begins to run. The returned signal aborts when the unit must pause, stop or start again. */
    leaving: (unit: Unit, within: AbortSignal) => leaving(unit, () => targetOf(unit), restOf, within),
    failed,
    allFailed: () => units.every(hasFailed),
  };
}

function leaving(
  { name }: Named,
  target: () => WorkerTarget,
  restOf: (target: WorkerTarget) => Rest | undefined,
  within: AbortSignal,
) {
  const { restartEpoch } = target();
  const reason = new Error(`${name} must pause, stop or start again.`);
  const [leave, over] = [new AbortController(), new AbortController()];
  const shallLeave = (now: WorkerTarget) => restOf(now) !== undefined || now.restartEpoch !== restartEpoch;
  untilTarget(target, shallLeave, AbortSignal.any([within, over.signal])).then(
    () => leave.abort(reason),
    () => {},
  );
  // If `within` aborts, the signal aborts too, with the reason of `within` instead of `reason`.
  return { signal: AbortSignal.any([within, leave.signal]), reason, end: () => over.abort() };
}
