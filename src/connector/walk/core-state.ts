import type { FollowerContext, FollowerState } from '../stream/follower-steps.ts';
import type { ResponseTime } from '../stream/response-time.ts';
import { streamAtStart } from '../stream/stream.ts';
import type { Census } from './census.ts';
import type { CoreDecision, EventFacts } from './instruments-messages.ts';
import { firstOffset, type InstrumentsOffset } from './instruments-offset.ts';
import type { InstrumentsSettings } from './instruments-settings.ts';
import { type Walk, type WalkContext, type WalkInput, walkAtStart } from './walk.ts';
import { stepWalk } from './walk-table.ts';

/** All that moves on with a commit, but for the collections: that of the stream, and that of the walk. */
export interface CoreState extends FollowerState {
  readonly offset: InstrumentsOffset;
  readonly walk: Walk;
  /** When a walk was last begun by this task, by the monotonic clock. */
  readonly begunMs: number;
  /** Whether that walk was begun by this task, and not before its start. */
  readonly isBegunHere: boolean;
}

/** A walk that an operator asked for. The same id is served once, restarts included. */
export interface WalkRequest {
  readonly id: string;
  /** How many instruments it may delete although that is more than one walk may; null for no more than usual. */
  readonly allowShrink: number | null;
}

/** All that a decision may look at; it changes none of it. */
export interface CoreContext extends FollowerContext {
  readonly settings: InstrumentsSettings & FollowerContext['settings'];
  readonly touched: ReadonlySet<bigint>;
  readonly census: Census | null;
  readonly demand: WalkRequest | null;
}

/** A decision, and what its commit changes. */
export interface Outcome extends Partial<Omit<CoreDecision, 'committed' | 'offset'>> {
  readonly state: CoreState;
  readonly commits: boolean;
  /** Nothing is touched any more, and the census is dropped. */
  readonly forgetsWalk?: boolean;
  /** Replaces the census. */
  readonly census?: Census;
  /** What changes in the census. */
  readonly record?: ((census: Census) => void) | undefined;
  /** What is touched from now on. */
  readonly touches?: readonly EventFacts[];
}

/** No committed offset: the stream starts where the provider's does now, and the first walk is pending. */
export function startWithoutOffset(
  filter: string,
  since: string,
  time: ResponseTime,
  { demand, nowMs }: Pick<CoreContext, 'demand' | 'nowMs'>,
): CoreState {
  return {
    offset: firstOffset(filter, since, time, demand?.id ?? null),
    stream: streamAtStart(nowMs),
    walk: { phase: 'census', streamStart: since, notBeforeMs: nowMs },
    committedMs: nowMs,
    begunMs: nowMs,
    isBegunHere: true,
  };
}

/** The stream's part moves on as it does for any source that follows one. */
export function withStream(state: CoreState, { offset, stream, committedMs }: FollowerState): CoreState {
  const { since } = offset;
  if (since === null) throw new Error('A source of instruments was left without its offset.');
  return { ...state, stream, committedMs, offset: { ...state.offset, ...offset, since } };
}

export function startFrom(committed: InstrumentsOffset, nowMs: number): CoreState {
  const { walk, resumed } = walkAtStart(committed);
  const offset = resumed ? { ...committed, walkResumed: true } : committed;
  return { offset, walk, stream: streamAtStart(nowMs), committedMs: nowMs, begunMs: nowMs, isBegunHere: false };
}

/** One step of the walk. */
export function walkOn(state: CoreState, input: WalkInput, at: CoreContext): Outcome {
  const { nowMs } = at;
  const step = stepWalk(state.walk, input, walkContext(state, at));
  const begun = step.begins ?? null;
  const isNewDrain = 'drain' in step.walk && step.walk.phase !== state.walk.phase;
  return {
    state: {
      offset: step.offset ?? state.offset,
      // A drain that begins waits for the stream: it is asked at once.
      stream: isNewDrain ? { ...state.stream, dueMs: nowMs } : state.stream,
      walk: step.walk,
      committedMs: step.commits ? nowMs : state.committedMs,
      begunMs: begun === null ? state.begunMs : nowMs,
      isBegunHere: begun === null ? state.isBegunHere : true,
    },
    commits: step.commits ?? false,
    write: step.write ?? { kind: 'nothing' },
    notifications: step.notifications ?? [],
    ahead: step.ahead ?? null,
    begun,
    forgetsWalk: begun !== null || step.walk.phase === 'idle',
    ...(step.census && { census: step.census }),
    record: step.record,
  };
}

export function walkContext({ offset }: CoreState, { touched, census, settings, nowMs }: CoreContext): WalkContext {
  return { offset, touched, census, settings, nowMs };
}
