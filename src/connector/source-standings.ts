import { ConnectorError } from '../errors.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import { Pulse } from '../support/pulse.ts';
import type { HeldBackSources } from './held-back-sources.ts';
import { type SourceTarget, type SourceTargets, untilTarget } from './source-target.ts';

interface Named {
  readonly name: string;
}

/**
 * Which sources of a partition shall run: those that are not stopped, nor have failed since they were last asked to
 * start, nor are held back. A source whose topics are not as they must be has failed; one whose topics cannot be
 * looked at is held back.
 */
export interface SourceStandings<Source extends Named> {
  isDue(source: Source): boolean;
  /** Resolves once this source shall run; rejects with the signal's reason. */
  untilDue(source: Source, signal: AbortSignal): Promise<void>;
  /** Resolves once any source shall run, or has failed before it could. */
  untilAnyIsDue(signal: AbortSignal): Promise<void>;
  /** For a source that begins to run now: a signal to end by, when it is stopped or asked to start anew. */
  leaving(source: Source, within: AbortSignal): Leaving;
  /** The source cannot go on until an operator lets it start again. */
  failed(source: Source, error: unknown): void;
  allFailed(): boolean;
}

/** Whether the topics of a source are as they must be. */
export interface VerifiedTopics<Source> {
  areVerified(source: Source): boolean;
  /** Looks at them again; rejects with a ConnectorError when they are not. */
  verify(source: Source, signal: AbortSignal): Promise<void>;
}

export interface Leaving {
  /** Aborts with `reason` when the source shall leave, and with what surrounds it. */
  readonly signal: AbortSignal;
  readonly reason: Error;
  /** To be called when the source has ended, however it has. */
  end(): void;
}

export function createSourceStandings<Source extends Named>(options: {
  readonly sources: readonly Source[];
  readonly targets: SourceTargets;
  readonly held: Pick<HeldBackSources<Source>, 'failed' | 'isHeld' | 'untilFree'>;
  readonly topics?: VerifiedTopics<Source> | undefined;
  readonly events: Pick<ConnectorEvents, 'sourceFailed' | 'sourceStopped'>;
}): SourceStandings<Source> {
  const { sources, targets, held, topics, events } = options;
  const failedIn = new Map<Source, number>();
  const stopped = new Set<Source>();
  const hasFailed = new Pulse();
  const failed = (source: Source, error: unknown) => {
    failedIn.set(source, targets.of(source.name).chance);
    events.sourceFailed({ source: source.name, err: error });
    hasFailed.notify();
  };
  const dueBy = (source: Source) => (target: SourceTarget) =>
    target.state !== 'stopped' && failedIn.get(source) !== target.chance;
  const isVerified = (source: Source) => topics?.areVerified(source) !== false;
  const isWanted = (source: Source) => dueBy(source)(targets.of(source.name)) && !held.isHeld(source);
  const isDue = (source: Source) => isWanted(source) && isVerified(source);
  const verify = async (source: Source, signal: AbortSignal) => {
    try {
      await topics?.verify(source, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ConnectorError)) throw error;
      if (error.action === 'retry') held.failed(source, { isCertain: true });
      else failed(source, error);
    }
  };
  const untilDue = async (source: Source, signal: AbortSignal) => {
    do {
      await untilTarget(
        () => targets.of(source.name),
        (target) => {
          tellOnceStopped(source, target.state === 'stopped');
          return dueBy(source)(target);
        },
        signal,
      );
      await held.untilFree(source, signal).catch((error: unknown) => {
        if (!(error instanceof ConnectorError) || error.action !== 'stopSource') throw error;
        failed(source, error);
      });
      if (isWanted(source) && !isVerified(source)) await verify(source, signal);
    } while (!isDue(source));
  };
  const tellOnceStopped = (source: Source, isStopped: boolean) => {
    if (isStopped && !stopped.has(source)) events.sourceStopped({ source: source.name });
    if (isStopped) stopped.add(source);
    else stopped.delete(source);
  };
  return {
    isDue,
    untilDue,
    async untilAnyIsDue(signal) {
      const over = new AbortController();
      const within = AbortSignal.any([signal, over.signal]);
      const anyDue = sources.map((source) => untilDue(source, within));
      await Promise.race([...anyDue, hasFailed.next(within)]).finally(() => over.abort());
    },
    leaving(source, within) {
      const { generation } = targets.of(source.name);
      const reason = new Error(`Source ${source.name} shall not go on as it is.`);
      const leave = new AbortController();
      const over = new AbortController();
      untilTarget(
        () => targets.of(source.name),
        (target) => target.generation !== generation,
        AbortSignal.any([within, over.signal]),
      ).then(
        () => leave.abort(reason),
        () => {},
      );
      return { signal: AbortSignal.any([within, leave.signal]), reason, end: () => over.abort() };
    },
    failed,
    allFailed: () => sources.every((source) => failedIn.get(source) === targets.of(source.name).chance),
  };
}
