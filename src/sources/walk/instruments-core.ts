import type { ResetOffset } from '../stream/committed-stream.ts';
import { wantsMark } from '../stream/end-mark.ts';
import type { StreamStart } from '../stream/follower-messages.ts';
import {
  type FollowedOutcome,
  type FollowerContext,
  type FollowerState,
  followOffset,
  isOverdue,
  requestForProof,
  takeStart,
  takeVerifiedStart,
  waitForList,
} from '../stream/follower-steps.ts';
import { type ResponseTime, timeBetween } from '../stream/response-time.ts';
import { isOffsetInDoubt, isProviderBehind } from '../stream/retention-gap.ts';
import { isReadingOn, secondsToRetentionCliff, streamAtStart } from '../stream/stream.ts';
import type { Census } from './census.ts';
import type {
  CoreAnswer,
  CoreDecision,
  CoreRequest,
  EventFacts,
  InstrumentsSettings,
  WalkReason,
  WalkRequest,
} from './instruments-messages.ts';
import {
  beginWalk,
  beginWalkInstead,
  firstOffset,
  type InstrumentsOffset,
  lowestStart,
  type WalkDemand,
  walkIntervalMs,
} from './instruments-offset.ts';
import { marginMs } from './list-lag.ts';
import { type Walk, type WalkInput, type WalkPhase, walkAtStart, wantsStart } from './walk.ts';
import { stepWalk } from './walk-steps.ts';

/** Decides the requests and commits of an instruments source. Like `FollowerCore`, does no I/O and reads no clock. */
export class InstrumentsCore {
  readonly #settings: CoreContext['settings'];
  readonly #touched = new Set<bigint>();
  #census: Census | null = null;
  readonly #reset: ResetOffset | null;
  #state: CoreState | null;
  readonly #topicId: string | null;
  #demand: WalkRequest | null = null;
  /** True after a request for a walk, until the stream answers. Only a response of the stream begins the walk. */
  #isDemandNew = false;

  /** `committed`: null before the first commit. `reset`: the offset before a reset. `topicId`: null if unknown. */
  constructor(
    settings: InstrumentsSettings,
    committed: InstrumentsOffset | null,
    nowMs: number,
    reset: ResetOffset | null = null,
    topicId: string | null = null,
  ) {
    this.#settings = { ...settings, begins: 'atGivenStart' };
    this.#reset = reset;
    this.#topicId = topicId;
    this.#state = committed === null ? null : startFrom(committed, nowMs, topicId);
  }

  get offset(): InstrumentsOffset | null {
    return this.#state?.offset ?? null;
  }

  get phase(): WalkPhase | 'starting' {
    return this.#state?.walk.phase ?? 'starting';
  }

  /** The current walk is finished first. A request that was already served, or already waits, changes nothing. */
  requestWalk(request: WalkRequest): void {
    if (this.#state?.offset.walkRequest === request.id || this.#demand?.id === request.id) return;
    this.#demand = request;
    this.#isDemandNew = true;
  }

  get isCaughtUp(): boolean {
    return this.#state?.stream.caughtUp ?? false;
  }

  secondsToRetentionCliff(nowMs: number, wallMs: number): number | null {
    if (this.#state === null) return null;
    return secondsToRetentionCliff(this.#state.stream, this.#state.offset, { nowMs, wallMs });
  }

  /** Null during a walk and before the first offset; negative if the walk is overdue. `wallMs`: our clock. */
  secondsToNextWalk(nowMs: number, wallMs: number): number | null {
    if (this.#state === null) return null;
    return secondsToNextWalk(this.#state, this.#settings, { nowMs, wallMs });
  }

  next(nowMs: number, listFreeMs = nowMs): CoreRequest {
    if (this.#state === null) {
      return nowMs < listFreeMs ? waitForList(nowMs, listFreeMs) : { kind: 'start' };
    }
    const wanted = nextRequest(this.#state, this.#settings, nowMs, listFreeMs);
    if (wanted.kind === 'wait' && this.#isDemandNew) return { kind: 'stream', since: this.#state.offset.since };
    if (wanted.kind !== 'usePage' && wanted.kind !== 'sweep') return wanted;
    return { kind: 'commit', decision: this.#decide(walkOn(this.#state, wanted, this.#context(nowMs))) };
  }

  /** Decides about a response; `committed` applies the decision. @throws WALK_CURSOR_REPEATED, RETENTION_GAPS_REPEAT. */
  answered(answer: CoreAnswer, nowMs: number): CoreDecision {
    if (answer.kind === 'stream' || answer.kind === 'refused') this.#isDemandNew = false;
    return this.#decide(this.#weigh(answer, this.#context(nowMs)));
  }

  #weigh(answer: CoreAnswer, at: CoreContext): Outcome {
    const state = this.#state;
    if (state === null) {
      if (answer.kind !== 'start') throw new Error(`A source without an offset was given ${answer.kind}.`);
      const { since, time } = answer;
      // If an operator has already requested a walk, the first walk serves this request.
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
      isAgain: false,
      write: { kind: 'nothing' },
      notifications: [],
      ahead: null,
      discarded: null,
      begun: null,
      ...decision,
      offset: commits ? state.offset : null,
      committed: () => {
        if (this.#state !== before) throw new Error('A decision was committed twice, or after a later decision.');
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

  /** An event is newer than every row of this walk, even if the event is a dead letter. */
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
      topicId: this.#topicId,
      nowMs,
    };
  }
}

type Wanted = Exclude<CoreRequest, { kind: 'commit' }> | { readonly kind: 'usePage' } | { readonly kind: 'sweep' };

/** An overdue request to the stream comes before a request to the list, which may begin at `listFreeMs`. */
function nextRequest(
  { walk, stream, offset }: CoreState,
  settings: CoreContext['settings'],
  nowMs: number,
  listFreeMs: number,
): Wanted {
  const events: Wanted = { kind: 'stream', since: offset.since };
  const unlessOverdue = (wanted: Wanted) => (isOverdue(stream, settings, nowMs) ? events : wanted);
  // A drain requests the stream without pauses: in a pause, new events could arrive and hide the stream's end.
  const isAwaited = 'drain' in walk && !walk.drain.isReached && isReadingOn(stream);
  const streamBy = (otherwiseMs: number): Wanted => {
    if (nowMs >= stream.dueMs || isAwaited) return events;
    return { kind: 'wait', ms: Math.max(1, Math.ceil(Math.min(stream.dueMs, otherwiseMs) - nowMs)) };
  };
  const fromList = (wanted: Wanted) => (nowMs < listFreeMs ? streamBy(listFreeMs) : unlessOverdue(wanted));
  const follow = () => streamBy(Number.POSITIVE_INFINITY);

  // The stream must not be read between the final drain and the tombstones.
  if (walk.phase === 'closing' && walk.drain.isReached) return { kind: 'sweep' };
  if (walk.phase === 'draining' && walk.drain.isReached) return { kind: 'usePage' };
  const proof = requestForProof(stream, settings);
  if (proof !== null) return proof.kind === 'start' ? fromList(proof) : unlessOverdue(proof);

  // If the stream never shows its end, the drain ends at a fresh start: the offset at which a new source would begin.
  const isEndless = 'drain' in walk && isReadingOn(stream) && !stream.namesEnd;
  if (isEndless && wantsStart(walk.drain, { nowMs, marginMs: marginMs(settings, offset) })) {
    return fromList({ kind: 'start' });
  }

  if (nowMs >= listFreeMs && wantsMark(stream.mark, nowMs)) return unlessOverdue({ kind: 'start' });

  switch (walk.phase) {
    case 'idle':
    case 'draining':
    case 'closing':
      return follow();
    case 'census':
      return nowMs < walk.notBeforeMs ? streamBy(walk.notBeforeMs) : unlessOverdue({ kind: 'census' });
    case 'margin': {
      const endMs = walk.drain.startedMs + marginMs(settings, offset);
      if (!walk.drain.isReached) return follow();
      return nowMs < endMs ? streamBy(endMs) : fromList(page(offset));
    }
    case 'paging':
      return fromList(page(offset));
    case 'verifying':
      return fromList({ kind: 'behindLast', minId: walk.places[0] ?? null });
  }
}

function page({ walk, walkCursor }: CoreState['offset']): Wanted {
  return { kind: 'page', walk, minId: walkCursor };
}

function followEvents(
  state: CoreState,
  answer: Extract<CoreAnswer, { kind: 'stream' | 'refused' }>,
  at: CoreContext,
): Outcome {
  const events = answer.kind === 'stream' ? answer.events : [];
  const items = events.length;
  const followed = followOffset(state, answer.kind === 'stream' ? { ...answer, items } : answer, at);
  const { gap: _, reading: __, notifications = [], ...outcome } = followed;
  let after = withStream(state, followed.state);
  const reason = reasonToWalk(after, followed, answer.time, at);
  if (reason !== null) after = replaceWalk(after, answer.time, at);
  else after = walkBeside(after, answer, followed, at);
  const replaced = isReplaced(state, at) ? [{ kind: 'topicReplaced', walk: after.offset.walk } as const] : [];
  const commits = followed.commits || reason !== null;
  return {
    ...outcome,
    notifications: [...notifications, ...replaced],
    state: commits ? { ...after, committedMs: at.nowMs } : after,
    commits,
    begun: reason,
    forgetsWalk: reason !== null,
    touches: followed.writes && after.walk.phase !== 'idle' ? touching(events, followed, reason) : [],
  };
}

/** Repeated events have old states, so only their ids are touched. If a walk begins with this response, they touch no id. */
function touching(
  events: readonly EventFacts[],
  { isAgain }: FollowedOutcome,
  begun: WalkReason | null,
): readonly EventFacts[] {
  if (!isAgain) return events;
  return begun === null ? events.map(({ id }) => ({ id, digest: null, deletes: false })) : [];
}

function takeEventsStart(state: CoreState, start: StreamStart, at: CoreContext): Outcome {
  const after = withStream(state, takeStart(state, start, at).state);
  return { state: { ...after, walk: drainTo(start, state, at) }, commits: false };
}

/** A drain uses a fresh start only if the start was requested at least `marginMs` after the drain began. */
function drainTo({ since, askedMs }: StreamStart, { walk, offset }: CoreState, { nowMs, settings }: CoreContext): Walk {
  const at = { nowMs: askedMs ?? nowMs, marginMs: marginMs(settings, offset) };
  if (!('drain' in walk) || !wantsStart(walk.drain, at)) return walk;
  return { ...walk, drain: { ...walk.drain, start: since } };
}

function reasonToWalk(
  state: CoreState,
  { gap, reading }: FollowedOutcome,
  time: ResponseTime,
  at: CoreContext,
): WalkReason | null {
  const { demand, settings, nowMs } = at;
  if (gap === 'proven') return 'gapProven';
  if (gap === 'suspected') return 'gapSuspected';
  if (isReplaced(state, at)) return 'topicReplaced';
  if (gap === 'passed') return 'streamPassed';
  if (state.walk.phase !== 'idle' || reading === null) return null;
  if (demand !== null) return 'requested';
  return walkAgeMs(state, time, nowMs) >= walkIntervalMs(state.offset, settings) ? 'interval' : null;
}

function isReplaced({ offset }: CoreState, { topicId }: CoreContext): boolean {
  return topicId !== null && offset.topicId !== null && offset.topicId !== topicId;
}

/** Begins a walk that replaces the current walk. The new walk also serves the waiting request of an operator. */
function replaceWalk(state: CoreState, time: ResponseTime, at: CoreContext): CoreState {
  const { walk } = stepWalk(state.walk, { kind: 'begin' }, { ...at, offset: state.offset });
  const topicId = at.topicId ?? state.offset.topicId;
  const { walkRequest, walkAllowShrink } = state.offset;
  const demand: WalkDemand =
    at.demand === null
      ? { walkRequest, walkAllowShrink }
      : { walkRequest: at.demand.id, walkAllowShrink: at.demand.allowShrink };
  // A response to a page request of the replaced walk is recognised by its number.
  const begin = state.walk.phase === 'census' ? beginWalkInstead : beginWalk;
  const offset = { ...begin(state.offset, time, demand), topicId };
  return { ...state, walk, offset, begunMs: at.nowMs, isBegunHere: true };
}

/**
 * Gives a response of the stream to the walk, but not while our offset is in doubt or the provider's stream ends before
 * our offset. Then a drain waits, because its page may be newer than the stream.
 */
function walkBeside(
  state: CoreState,
  answer: Extract<CoreAnswer, { kind: 'stream' | 'refused' }>,
  { reading }: FollowedOutcome,
  at: CoreContext,
): CoreState {
  const { offset, stream, walk } = state;
  const { namesEnd, doubt } = stream;
  if (answer.kind === 'refused' || reading === null) return state;
  if (isOffsetInDoubt(doubt) || isProviderBehind(offset)) return state;
  return { ...state, walk: stepWalk(walk, { kind: 'streamed', answer, reading, namesEnd }, { ...at, offset }).walk };
}

/**
 * Returns the time since the newest walk began. If this task began the walk, the monotonic clock gives this time. But
 * the monotonic clock stops while the machine sleeps. So if the provider's clock and our wall clock both show more
 * time, the lesser of these two times is used. If an earlier task began the walk, the longest time of all clocks is
 * used: a wrong clock must not delay the next walk.
 */
function walkAgeMs(
  { offset, begunMs, isBegunHere }: Pick<CoreState, 'offset' | 'begunMs' | 'isBegunHere'>,
  time: ResponseTime,
  nowMs: number,
): number {
  // The offset does not say which clock gave `walkStartedAtMs`, so the clock of the response is assumed.
  const begun: ResponseTime = { dateMs: offset.walkStartedAtMs, from: time.from, ownMs: offset.walkStartedOwnMs };
  const { leastMs, mostMs } = timeBetween(begun, time);
  return Math.max(nowMs - begunMs, isBegunHere ? leastMs : mostMs);
}

function secondsToNextWalk(
  state: Pick<CoreState, 'offset' | 'begunMs' | 'isBegunHere' | 'stream'>,
  settings: InstrumentsSettings,
  { nowMs, wallMs }: { readonly nowMs: number; readonly wallMs: number },
): number | null {
  const { offset, stream } = state;
  if (offset.walkPending) return null;
  const sinceAnswerMs = stream.takenMs === null ? wallMs - offset.serverDate.ownMs : nowMs - stream.takenMs;
  const ageMs = walkAgeMs(state, offset.serverDate, nowMs - sinceAnswerMs) + Math.max(0, sinceAnswerMs);
  return (walkIntervalMs(offset, settings) - ageMs) / 1_000;
}

/** The state that a commit changes, without the census and the touched ids. */
export interface CoreState extends FollowerState {
  readonly offset: InstrumentsOffset;
  readonly walk: Walk;
  /** When this task began the newest walk. If an earlier task began that walk: when this task started. Monotonic. */
  readonly begunMs: number;
  readonly isBegunHere: boolean;
}

export interface CoreContext extends FollowerContext {
  readonly settings: InstrumentsSettings & FollowerContext['settings'];
  readonly touched: ReadonlySet<bigint>;
  readonly census: Census | null;
  readonly demand: WalkRequest | null;
  readonly topicId: string | null;
}

export interface Outcome extends Partial<Omit<CoreDecision, 'committed' | 'offset'>> {
  readonly state: CoreState;
  readonly commits: boolean;
  /** Drops the census and all touched ids. */
  readonly forgetsWalk?: boolean;
  readonly census?: Census;
  readonly record?: ((census: Census) => void) | undefined;
  readonly touches?: readonly EventFacts[];
}

function startWithoutOffset(
  filter: string,
  since: string,
  time: ResponseTime,
  { demand, topicId, nowMs }: Pick<CoreContext, 'demand' | 'topicId' | 'nowMs'>,
): CoreState {
  return {
    offset: firstOffset(filter, since, time, demand?.id ?? null, topicId),
    stream: streamAtStart(nowMs),
    walk: { phase: 'census', notBeforeMs: nowMs },
    committedMs: nowMs,
    begunMs: nowMs,
    isBegunHere: true,
  };
}

function withStream(state: CoreState, { offset, stream, committedMs }: FollowerState): CoreState {
  const { since } = offset;
  if (since === null) throw new Error('An instruments source has lost its offset.');
  const streamStart = lowestStart(state.offset.streamStart, since);
  return { ...state, stream, committedMs, offset: { ...state.offset, ...offset, since, streamStart } };
}

/** A committed offset without a topic id gets the current id of the instruments topic. */
function startFrom(committed: InstrumentsOffset, nowMs: number, topicId: string | null): CoreState {
  const { walk, offset } = walkAtStart(committed);
  return {
    offset: { ...offset, topicId: committed.topicId ?? topicId },
    walk,
    stream: streamAtStart(nowMs),
    committedMs: nowMs,
    begunMs: nowMs,
    isBegunHere: false,
  };
}

function walkOn(state: CoreState, input: WalkInput, at: CoreContext): Outcome {
  const { nowMs } = at;
  const step = stepWalk(state.walk, input, { ...at, offset: state.offset });
  const begun = step.begins ?? null;
  const isNewDrain = 'drain' in step.walk && step.walk.phase !== state.walk.phase;
  return {
    state: {
      offset: step.offset ?? state.offset,
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
