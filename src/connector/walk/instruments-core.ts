import { takeVerifiedStart, waitForList } from '../stream/follower-steps.ts';
import type { ResetOffset } from '../stream/reset-offset.ts';
import { secondsToRetentionCliff } from '../stream/stream.ts';
import type { Census } from './census.ts';
import {
  type CoreContext,
  type CoreState,
  type Outcome,
  startFrom,
  startWithoutOffset,
  type WalkRequest,
  walkOn,
  withStream,
} from './core-state.ts';
import { followEvents, takeEventsStart } from './follow-events.ts';
import type { CoreAnswer, CoreDecision, CoreRequest, EventFacts } from './instruments-messages.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';
import type { InstrumentsSettings } from './instruments-settings.ts';
import { nextRequest } from './next-request.ts';
import type { WalkPhase } from './walk.ts';
import { secondsToNextWalk } from './walk-age.ts';

/**
 * The decisions of an instruments source: what to ask next, and what a response means. It asks nothing itself, looks at
 * no clock, and moves on only when a decision is committed. `nowMs` is a monotonic clock throughout.
 *
 * One belongs to one start of a task: after a commit that failed, or whose outcome is unknown, it is thrown away and
 * replaced by one that starts from the committed offset.
 */
export class InstrumentsCore {
  readonly #settings: CoreContext['settings'];
  /** Ids that events have named since the walk began or was resumed. */
  readonly #touched = new Set<bigint>();
  #census: Census | null = null;
  readonly #reset: ResetOffset | null;
  #state: CoreState | null;
  #demand: WalkRequest | null = null;
  /** The stream has not answered since a walk was asked for: a walk begins with one of its responses. */
  #isDemandNew = false;

  /** `committed`: the offset to go on from; null when there is none. `reset`: the offset from before a reset. */
  constructor(
    settings: InstrumentsSettings,
    committed: InstrumentsOffset | null,
    nowMs: number,
    reset: ResetOffset | null = null,
  ) {
    this.#settings = { ...settings, begins: 'atGivenStart' };
    this.#reset = reset;
    this.#state = committed === null ? null : startFrom(committed, nowMs);
  }

  /** The offset as the next commit will have it; null before the first response of a source without one. */
  get offset(): InstrumentsOffset | null {
    return this.#state?.offset ?? null;
  }

  get phase(): WalkPhase | 'starting' {
    return this.#state?.walk.phase ?? 'starting';
  }

  /** Asks for a walk as soon as the one under way is over. A request that was served or waits already changes nothing. */
  requestWalk(request: WalkRequest): void {
    if (this.#state?.offset.walkRequest === request.id || this.#demand?.id === request.id) return;
    this.#demand = request;
    this.#isDemandNew = true;
  }

  /** Whether the stream had no more for us when it was last asked; false while our offset is in doubt. */
  get isCaughtUp(): boolean {
    return this.#state?.stream.caughtUp ?? false;
  }

  /** Our own clock counts only until the provider has answered this task. Null before the first offset. */
  secondsToRetentionCliff(nowMs: number, wallMs: number): number | null {
    if (this.#state === null) return null;
    return secondsToRetentionCliff(this.#state.stream, this.#state.offset, { nowMs, wallMs });
  }

  /** Null while a walk is under way and before the first offset; negative: overdue. */
  secondsToNextWalk(nowMs: number, wallMs: number): number | null {
    if (this.#state === null) return null;
    return secondsToNextWalk(this.#state, this.#settings.walkIntervalMs, { nowMs, wallMs });
  }

  /**
   * What is wanted now. Asking changes nothing: after a failed request the same comes again, or something more urgent.
   * `listFreeMs`: when the list may be asked again, which is being asked or has refused; in the past where it may be now.
   */
  next(nowMs: number, listFreeMs = nowMs): CoreRequest {
    if (this.#state === null) {
      return nowMs < listFreeMs ? waitForList(nowMs, listFreeMs) : { kind: 'start' };
    }
    const wanted = nextRequest(this.#state, this.#settings, nowMs, listFreeMs);
    if (wanted.kind === 'wait' && this.#isDemandNew) return { kind: 'stream', since: this.#state.offset.since };
    if (wanted.kind !== 'usePage' && wanted.kind !== 'sweep') return wanted;
    return { kind: 'commit', decision: this.#decide(walkOn(this.#state, wanted, this.#context(nowMs))) };
  }

  /**
   * What a response to the newest request means. Nothing has changed until its decision is committed: a response that
   * could not be used after all may be dropped, and is asked for again.
   *
   * @throws ConnectorError WALK_CURSOR_REPEATED, RETENTION_GAPS_REPEAT: the source stops.
   */
  answered(answer: CoreAnswer, nowMs: number): CoreDecision {
    if (answer.kind === 'stream' || answer.kind === 'refused') this.#isDemandNew = false;
    return this.#decide(this.#weigh(answer, this.#context(nowMs)));
  }

  #weigh(answer: CoreAnswer, at: CoreContext): Outcome {
    const state = this.#state;
    if (state === null) {
      if (answer.kind !== 'start') throw new Error(`A source without an offset was given ${answer.kind}.`);
      const { since, time } = answer;
      // What was asked for before the source had an offset may be old: the first walk does it, as carefully as any.
      const { filter } = this.#settings;
      const reset = { kind: 'offsetReset', filter, to: time, goesOnAfter: since } as const;
      const notifications = this.#reset === null ? [] : [{ ...reset, before: this.#reset }];
      return { state: startWithoutOffset(filter, since, time, at), commits: true, begun: 'first', notifications };
    }
    switch (answer.kind) {
      case 'start':
        return takeEventsStart(state, answer, at);
      case 'verifyStart':
        return { state: withStream(state, takeVerifiedStart(state, answer, at).state), commits: false };
      case 'stream':
      case 'refused':
        return followEvents(state, answer, at);
      default:
        return walkOn(state, answer, at);
    }
  }

  #decide(outcome: Outcome): CoreDecision {
    const { state, commits, forgetsWalk, census, record, touches, ...decision } = outcome;
    const before = this.#state;
    return {
      writes: false,
      write: { kind: 'nothing' },
      notifications: [],
      ahead: null,
      discarded: null,
      begun: null,
      ...decision,
      offset: commits ? state.offset : null,
      committed: () => {
        if (this.#state !== before) throw new Error('A decision was committed twice, or after a later one.');
        this.#apply(outcome);
      },
    };
  }

  #apply({ state, forgetsWalk, census, record, touches }: Outcome): void {
    this.#state = state;
    if (this.#demand?.id === state.offset.walkRequest) this.#demand = null;
    if (this.#census !== null) record?.(this.#census);
    if (forgetsWalk) this.#touched.clear();
    if (forgetsWalk || census !== undefined) this.#census = census ?? null;
    for (const event of touches ?? []) this.#touch(event);
  }

  /** What an event says is newer than any row of this walk, whether it became a record or not. */
  #touch({ id, digest, deletes }: EventFacts): void {
    if (id === null) return;
    this.#touched.add(id);
    if (deletes) this.#census?.delete(id);
    else if (digest !== null) this.#census?.put(id, digest, true);
  }

  #context(nowMs: number): CoreContext {
    return {
      settings: this.#settings,
      touched: this.#touched,
      census: this.#census,
      demand: this.#demand,
      nowMs,
    };
  }
}
