import type { StreamStart } from '../stream/follower-messages.ts';
import { type FollowedOutcome, followOffset, takeStart } from '../stream/follower-steps.ts';
import type { ResponseTime } from '../stream/response-time.ts';
import { isOffsetInDoubt } from '../stream/retention-gap.ts';
import type { StreamReading, StreamResponse } from '../stream/stream-response.ts';
import { type CoreContext, type CoreState, type Outcome, walkContext, withStream } from './core-state.ts';
import { wantsStart } from './drain.ts';
import type { CoreAnswer, WalkReason } from './instruments-messages.ts';
import { beginWalk, type WalkDemand } from './instruments-offset.ts';
import { marginMs } from './list-lag.ts';
import type { Walk } from './walk.ts';
import { walkAgeMs } from './walk-age.ts';
import { stepWalk } from './walk-table.ts';

/** One response to our offset: the stream is followed as any other is, and a walk begins or moves on. */
export function followEvents(
  state: CoreState,
  answer: Extract<CoreAnswer, { kind: 'stream' | 'refused' }>,
  at: CoreContext,
): Outcome {
  const events = answer.kind === 'stream' ? answer.events : [];
  const items = events.length;
  const followed = followOffset(state, answer.kind === 'stream' ? { ...answer, items } : answer, at);
  const { reading, gap: _, ...outcome } = followed;
  let after = withStream(state, followed.state);
  const reason = reasonToWalk(after, followed, answer.time, at);
  if (reason !== null) after = replaceWalk(after, answer.time, at);
  else if (answer.kind === 'stream') after = walkBeside(after, answer, reading, at);
  const commits = followed.commits || reason !== null;
  return {
    ...outcome,
    state: commits ? { ...after, committedMs: at.nowMs } : after,
    commits,
    begun: reason,
    forgetsWalk: reason !== null,
    touches: followed.writes && after.walk.phase !== 'idle' ? events : [],
  };
}

/** A fresh start of the stream is where a drain may end, too. */
export function takeEventsStart(state: CoreState, start: StreamStart, at: CoreContext): Outcome {
  const after = withStream(state, takeStart(state, start, at).state);
  return { state: { ...after, walk: drainTo(start, state, at) }, commits: false };
}

/** Only one that was asked for since the drain began, and by the margin later, is from after it. */
function drainTo({ since, askedMs }: StreamStart, { walk, offset }: CoreState, { nowMs, settings }: CoreContext): Walk {
  const at = { nowMs: askedMs ?? nowMs, marginMs: marginMs(settings, offset) };
  if (!('drain' in walk) || !wantsStart(walk.drain, at)) return walk;
  return { ...walk, drain: { ...walk.drain, start: since } };
}

function reasonToWalk(
  state: CoreState,
  { gap, reading }: FollowedOutcome,
  time: ResponseTime,
  { demand, settings, nowMs }: CoreContext,
): WalkReason | null {
  if (gap === 'proven') return 'gapProven';
  if (gap === 'suspected') return 'gapSuspected';
  if (state.walk.phase !== 'idle' || reading === null) return null;
  if (demand !== null) return 'requested';
  return walkAgeMs(state, time, nowMs) >= settings.walkIntervalMs ? 'interval' : null;
}

/** A walk begins and replaces any walk under way; it also serves a requested walk that waits. */
function replaceWalk(state: CoreState, time: ResponseTime, at: CoreContext): CoreState {
  const { walk } = stepWalk(state.walk, { kind: 'begin' }, walkContext(state, at));
  const { walkRequest, walkAllowShrink } = state.offset;
  const demand: WalkDemand =
    at.demand === null
      ? { walkRequest, walkAllowShrink }
      : { walkRequest: at.demand.id, walkAllowShrink: at.demand.allowShrink };
  return { ...state, walk, offset: beginWalk(state.offset, time, demand), begunMs: at.nowMs, isBegunHere: true };
}

/** A response to an offset in doubt moves no drain: that it holds nothing does not mean that there is nothing. */
function walkBeside(
  state: CoreState,
  answer: StreamResponse,
  reading: StreamReading | null,
  at: CoreContext,
): CoreState {
  if (reading === null || isOffsetInDoubt(state.stream.proof)) return state;
  const { namesEnd } = state.stream;
  const { walk } = stepWalk(state.walk, { kind: 'streamed', answer, reading, namesEnd }, walkContext(state, at));
  return { ...state, walk };
}
