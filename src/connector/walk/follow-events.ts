import { markAt } from '../stream/end-mark.ts';
import { confirmOffset, giveOffsetUp } from '../stream/fresh-start.ts';
import { type GapInput, isOffsetInDoubt, refusesOffset, weighGap } from '../stream/retention-gap.ts';
import { followStream, type StreamStep, takeFreshStart } from '../stream/stream.ts';
import { compareStreamOffsets } from '../stream/stream-offset.ts';
import { type CoreContext, type CoreState, type Outcome, walkContext } from './core-state.ts';
import { wantsStart } from './drain.ts';
import type { CoreAnswer, CoreNotification, WalkReason } from './instruments-messages.ts';
import { beginWalk, type InstrumentsOffset, type WalkDemand } from './instruments-offset.ts';
import { marginMs } from './list-lag.ts';
import type { Walk } from './walk.ts';
import { walkAgeMs } from './walk-age.ts';
import { stepWalk } from './walk-table.ts';

type EventsAnswer = Extract<CoreAnswer, { kind: 'events' }>;
type OffsetAnswer = EventsAnswer | Extract<CoreAnswer, { kind: 'refused' }>;

/**
 * One answer to our offset: its events are taken or discarded, a retention gap is suspected, proven or neither, and a
 * walk begins or moves on.
 */
export function followEvents(state: CoreState, answer: OffsetAnswer, at: CoreContext): Outcome {
  const { offset } = state;
  if (answer.kind === 'refused' && !refusesOffset(answer.status)) {
    throw new Error(`Status ${answer.status} says nothing about an offset, and was handed over as its refusal.`);
  }
  const events = answer.kind === 'events' ? answer.events : [];
  const followed = followStream(state.stream, offset, answer, { ...gapContext(at), events: events.length });
  const taken = answer.kind === 'events' && followed.reading !== null ? answer : null;
  const notifications: CoreNotification[] = [];
  let after: CoreState = { ...state, stream: followed.stream, offset: { ...offset, ...followed.position } };
  if (followed.suspects) {
    const fromMs = offset.serverDate.dateMs - offset.standingMs;
    const { ageMs } = followed;
    notifications.push({ kind: 'gapSuspected', fromMs, to: answer.time, since: offset.since, ageMs });
  }
  const { lost } = followed;
  if (lost !== null) notifications.push({ kind: 'gapCertain', ...lost, since: offset.since, to: answer.time });
  const reason = reasonToWalk(after, followed, answer, at);
  if (reason === 'gapProven') {
    notifications.push(gapNotification(offset, followed, answer));
    after = healGap(after, answer, at.nowMs);
  }
  if (reason !== null) after = replaceWalk(after, answer, at);
  else if (taken !== null) after = walkBeside(after, taken, followed, at);

  const hasEvents = taken !== null && events.length > 0;
  const commits =
    reason !== null || hasEvents || followed.renews || (taken !== null && isEmptyCommitDue(state, taken, at));
  return {
    state: commits ? { ...after, committedMs: at.nowMs } : after,
    commits,
    write: { kind: hasEvents ? 'events' : 'nothing' },
    notifications,
    discarded: followed.discarded,
    begun: reason,
    forgetsWalk: reason !== null,
    touches: hasEvents && after.walk.phase !== 'idle' ? events : [],
  };
}

/** A fresh start of the stream. One that equals our offset: nothing lies behind it, so there is no gap. */
export function takeProbe(state: CoreState, since: string, at: CoreContext): Outcome {
  const { offset, stream } = state;
  const proof = weighGap(stream.proof, { kind: 'start', since, ours: offset.since }, gapContext(at));
  // Where a doubt is over, our own offset is asked at once: a drain may wait for it.
  const isOver = isOffsetInDoubt(stream.proof) && !isOffsetInDoubt(proof);
  const mark = markAt(stream.mark, since, at.nowMs);
  const asked = {
    ...takeFreshStart({ ...stream, mark }, proof, { start: since, ours: offset.since, nowMs: at.nowMs }),
    dueMs: isOver ? at.nowMs : stream.dueMs,
  };
  const after = since === offset.since ? confirmOffset(asked, offset, at.nowMs) : { stream: asked };
  return { state: { ...state, ...after, walk: drainTo(since, state, at) }, commits: false };
}

/** A fresh start is where a drain may end, too. */
function drainTo(start: string, { walk, offset }: CoreState, { nowMs, settings }: CoreContext): Walk {
  if (!('drain' in walk) || !wantsStart(walk.drain, { nowMs, marginMs: marginMs(settings, offset) })) return walk;
  return { ...walk, drain: { ...walk.drain, start } };
}

/** Whether the fresh start gets 200; our own offset is asked again at once, so that the round is complete. */
export function takeVerifiedProbe(
  state: CoreState,
  { taken, items }: Pick<Extract<CoreAnswer, { kind: 'verifyStart' }>, 'taken' | 'items'>,
  at: CoreContext,
): Outcome {
  const input: GapInput = taken ? { kind: 'startVerified', items } : { kind: 'startRefused' };
  const proof = weighGap(state.stream.proof, input, gapContext(at));
  const dueMs = taken && isOffsetInDoubt(proof) ? at.nowMs : state.stream.dueMs;
  return { state: { ...state, stream: { ...state.stream, proof, dueMs } }, commits: false };
}

function gapContext({ settings: { pollIntervalMs, gapProofMs, offsetHoldMs }, nowMs }: CoreContext) {
  return { nowMs, pollIntervalMs, gapProofMs, offsetHoldMs };
}

function reasonToWalk(
  state: CoreState,
  followed: StreamStep,
  { time }: OffsetAnswer,
  { demand, settings, nowMs }: CoreContext,
): WalkReason | null {
  const { walk, stream } = state;
  if (stream.proof.phase === 'proven') return 'gapProven';
  if (followed.suspects || followed.lost !== null) return 'gapSuspected';
  if (walk.phase !== 'idle' || followed.reading === null) return null;
  if (demand !== null) return 'requested';
  return walkAgeMs(state, time, nowMs) >= settings.walkIntervalMs ? 'interval' : null;
}

function gapNotification(offset: InstrumentsOffset, { stream }: StreamStep, { time }: OffsetAnswer): CoreNotification {
  const { sign, start } = stream.proof;
  if (start === null || sign === null) throw new Error('A gap was proven without a fresh start.');
  const isReset = (compareStreamOffsets(start, offset.since) ?? 1) < 0;
  return {
    kind: isReset ? 'streamReset' : 'gapProven',
    why: sign,
    fromMs: offset.gapSuspectedFromMs ?? offset.serverDate.dateMs - offset.standingMs,
    to: time,
    lostAfter: offset.since,
    goesOnAfter: start,
  };
}

/** Gives our offset up for the fresh start. */
function healGap(state: CoreState, { time }: OffsetAnswer, nowMs: number): CoreState {
  const { start } = state.stream.proof;
  const { stream, offset } = giveOffsetUp(state.stream, state.offset, { time, nowMs });
  return { ...state, stream, offset: { ...offset, since: start ?? offset.since } };
}

/** A walk begins and replaces any walk under way; it also serves a requested walk that waits. */
function replaceWalk(state: CoreState, { time }: OffsetAnswer, at: CoreContext): CoreState {
  const { walk } = stepWalk(state.walk, { kind: 'begin' }, walkContext(state, at));
  const { walkRequest, walkAllowShrink } = state.offset;
  const demand: WalkDemand =
    at.demand === null
      ? { walkRequest, walkAllowShrink }
      : { walkRequest: at.demand.id, walkAllowShrink: at.demand.allowShrink };
  return { ...state, walk, offset: beginWalk(state.offset, time, demand), begunMs: at.nowMs, isBegunHere: true };
}

/** An answer to an offset in doubt moves no drain: that it holds nothing does not mean that there is nothing. */
function walkBeside(state: CoreState, answer: EventsAnswer, { reading }: StreamStep, at: CoreContext): CoreState {
  if (reading === null || isOffsetInDoubt(state.stream.proof)) return state;
  const { namesEnd } = state.stream;
  const { walk } = stepWalk(state.walk, { kind: 'streamed', answer, reading, namesEnd }, walkContext(state, at));
  return { ...state, walk };
}

/** Without it a quiet stream would be resumed after 7 days from an offset that has expired. */
function isEmptyCommitDue(before: CoreState, { time }: EventsAnswer, { settings, nowMs }: CoreContext): boolean {
  if (nowMs - before.committedMs >= settings.emptyCommitIntervalMs) return true;
  // Many short task lives in a row must not mean that the offset is never committed.
  const isFirst = before.stream.takenMs === null;
  return isFirst && Math.abs(time.dateMs - before.offset.serverDate.dateMs) >= settings.emptyCommitIntervalMs;
}
