import { type FollowerOffset, offsetAtStart } from './committed-stream.ts';
import { markAt } from './end-mark.ts';
import type { FollowerDecision, FollowerNotification, FollowerRequest, StreamStart } from './follower-messages.ts';
import type { ResponseTime } from './response-time.ts';
import {
  type AdoptedOffset,
  healedOnceMore,
  isOffsetInDoubt,
  isProviderBehind,
  refusesOffset,
  type VerifiedStart,
  weighVerified,
} from './retention-gap.ts';
import {
  followStream,
  type OffsetResponse,
  type Stream,
  type StreamPosition,
  type StreamStep,
  streamAtStart,
  takeFreshStart,
} from './stream.ts';
import { isBefore } from './stream-response.ts';

export interface FollowerSettings {
  readonly filter: string;
  /**
   * `atGivenStart`, for events: the list gives the first offset, and offsets have an order. `withoutOffset`, for
   * pre-trade checks: the first request has no offset, and offsets have no order (part 4.2 of src/provider/README.md).
   */
  readonly begins: 'atGivenStart' | 'withoutOffset';
  readonly pollIntervalMs: number;
  readonly emptyCommitIntervalMs: number;
  readonly gapProofMs: number;
  readonly offsetHoldMs: number;
  readonly behindLimitMs: number;
}

export interface FollowerState {
  /** The offset that the next commit writes. */
  readonly offset: FollowerOffset;
  readonly stream: Stream;
  /** The time of the last commit, monotonic. */
  readonly committedMs: number;
}

export interface FollowerContext {
  readonly settings: FollowerSettings;
  readonly nowMs: number;
}

export interface FollowerOutcome extends Partial<Omit<FollowerDecision, 'committed' | 'offset'>> {
  readonly state: FollowerState;
  readonly commits: boolean;
}

export interface FollowedOutcome extends FollowerOutcome {
  readonly reading: StreamStep['reading'];
  /** `suspected`: our offset is kept. `proven`: our offset is replaced. `passed`: all repeated events are read. */
  readonly gap: 'suspected' | 'proven' | 'passed' | null;
}

export function beginAt(since: string | null, time: ResponseTime, { settings, nowMs }: FollowerContext): FollowerState {
  const offset = offsetAtStart(settings.filter, since, time);
  return { offset, stream: streamAtStart(nowMs), committedMs: nowMs };
}

/** Takes or discards the response to a request with our offset. This response may show a suspected or proven gap. */
export function followOffset(state: FollowerState, answer: OffsetResponse, at: FollowerContext): FollowedOutcome {
  const { offset } = state;
  if (answer.kind === 'refused' && (offset.since === null || !refusesOffset(answer.status))) {
    throw new Error(`Status ${answer.status} says nothing about an offset, so it is not a refusal of the offset.`);
  }
  const items = answer.kind === 'stream' ? answer.items : 0;
  const { held } = offset;
  const markedHeld = held && { ...held, since: marked(held.since, at) };
  const position = { ...offset, since: marked(offset.since, at), held: markedHeld };
  const step = followStream(state.stream, position, shownResponse(answer, at), { ...at.settings, nowMs: at.nowMs });
  const taken = answer.kind === 'stream' && step.reading !== null ? answer : null;
  const followed = { ...offset, ...step.position, ...unmarkedPosition(step.position, at.settings) };
  const notifications: FollowerNotification[] = [];
  if (step.suspects) {
    const fromMs = offset.serverDate.dateMs - offset.standingMs;
    notifications.push({ kind: 'gapSuspected', fromMs, to: answer.time, since: offset.since, ageMs: step.ageMs });
  }
  const { lost } = step;
  if (lost !== null) notifications.push({ kind: 'gapCertain', ...lost, since: offset.since, to: answer.time });
  const isSuspected = step.suspects || lost !== null;
  const notice = behindNotice(offset, followed, answer.time, at);
  if (notice !== null) notifications.push(notice);
  const isSilent = step.adopted?.why === 'unmoved' && !step.suspects && offset.gapSuspectedFromMs === null;
  const isReset = step.adopted !== null && isBefore(step.adopted.since, position.since);
  const proven = step.adopted !== null && (isReset || !isSilent) ? step.adopted : null;
  if (proven !== null) notifications.push(gapNotification(offset, proven, answer.time, at));
  const writes = taken !== null && items > 0;
  const isEmptyCommit = taken !== null && (offset.since === null || isEmptyCommitDue(state, taken.time, at));
  const isHoldCommit = isProviderBehind(followed) && at.nowMs - state.committedMs >= at.settings.emptyCommitIntervalMs;
  const after =
    proven === null
      ? passAgain(followed, step.stream, answer.time, at)
      : healGap(offset, followed, proven, answer.time, at);
  const isPassed = offset.again !== null && after.again === null;
  const isRead = writes || isEmptyCommit || isHoldCommit || isPassed;
  const commits = isRead || isSuspected || notice !== null || step.renews;
  return {
    state: { stream: step.stream, offset: after, committedMs: commits ? at.nowMs : state.committedMs },
    commits,
    writes,
    isAgain: writes && offset.again !== null,
    notifications,
    discarded: step.discarded,
    reading: step.reading,
    gap: proven !== null ? 'proven' : isSuspected ? 'suspected' : isPassed ? 'passed' : null,
  };
}

/** Takes a fresh start: the offset that a new source gets. If this start equals our offset, there is no gap. */
export function takeStart(state: FollowerState, fresh: StreamStart, at: FollowerContext): FollowerOutcome {
  const { offset, stream } = state;
  const { since, newest = null, askedMs = at.nowMs } = fresh;
  const isWithoutOffset = at.settings.begins === 'withoutOffset';
  // A request without an offset may get the oldest pre-trade checks. Then only `newest` can equal our offset.
  const isOurs = since === offset.since || (isWithoutOffset && newest !== null && newest === offset.since);
  const ours = marked(offset.since, at);
  // A source of pre-trade checks with the sign `unmoved` (`GapSign`) can replace its offset only by the newest offset.
  const isRenewal = stream.doubt.sign === 'unmoved';
  const given = isWithoutOffset && isRenewal ? newest : since;
  const markedStart = given === null ? null : marked(given, at);
  const start = { since: isOurs ? ours : markedStart, askedMs };
  const mark = isWithoutOffset ? stream.mark : markAt(stream.mark, { since, ours, askedMs });
  const taken = takeFreshStart({ ...stream, mark }, offset, { ours, start }, at.nowMs);
  // When the doubt about our offset ends, the stream is requested at once, because a drain may be waiting.
  const isOver = isOffsetInDoubt(stream.doubt) && !isOffsetInDoubt(taken.stream.doubt);
  const asked = { ...taken, stream: { ...taken.stream, dueMs: isOver ? at.nowMs : stream.dueMs } };
  const after = { ...state, ...(isOurs ? confirmOffset({ ...state, ...asked }, fresh.time, askedMs) : asked) };
  // The request for a start of pre-trade checks reads the stream too. So its status 200 also verifies the start.
  return isWithoutOffset && !isRenewal
    ? takeVerifiedStart(after, { taken: true, items: 0, next: null }, at)
    : { state: after, commits: false };
}

function confirmOffset(
  { stream, offset, committedMs }: FollowerState,
  time: ResponseTime,
  askedMs: number,
): FollowerState {
  return {
    // After discarded responses, the next response commits the offset. So a restart does not suspect the same gap again.
    committedMs: stream.discarded > 0 ? Number.NEGATIVE_INFINITY : committedMs,
    stream: { ...stream, takenMs: askedMs, servedMs: askedMs, servedLatestMs: askedMs, heldFromMs: null },
    offset: { ...offset, serverDate: time, standingMs: 0, standingLeastMs: 0, gapSuspectedFromMs: null, held: null },
  };
}

/**
 * Takes the response that verifies a fresh start. If our offset is in doubt or the start is lower, the stream is
 * requested from our offset at once. If offsets have no order, a start with later items may be old, and is not used.
 */
export function takeVerifiedStart(state: FollowerState, verified: VerifiedStart, at: FollowerContext): FollowerOutcome {
  const { stream, offset } = state;
  const isTaken = verified.taken && !(at.settings.begins === 'withoutOffset' && verified.items > 0);
  const next = verified.next === null ? null : marked(verified.next, at);
  const ours = marked(offset.since, at);
  const doubt = weighVerified(stream.doubt, { ...verified, taken: isTaken, next }, ours, at.nowMs);
  const { round } = doubt;
  const isUrgent = round?.wants === 'sign' && (isOffsetInDoubt(doubt) || isBefore(round.start, ours));
  const dueMs = isUrgent ? at.nowMs : stream.dueMs;
  return { state: { ...state, stream: { ...stream, doubt, dueMs } }, commits: false };
}

/** The longest wait for the list. The wait ends earlier if the list answers. */
const LONGEST_WAIT_MS = 60_000;

export function waitForList(nowMs: number, listFreeMs: number): Extract<FollowerRequest, { kind: 'wait' }> {
  return { kind: 'wait', ms: Math.ceil(Math.min(listFreeMs - nowMs, LONGEST_WAIT_MS)) };
}

export function requestForProof(
  { doubt: { round } }: Stream,
  settings: Pick<FollowerSettings, 'begins'>,
): Extract<FollowerRequest, { kind: 'start' | 'verifyStart' }> | null {
  if (round?.wants === 'start') return { kind: 'start' };
  return round?.wants === 'verify' ? { kind: 'verifyStart', since: unmarked(round.at, settings) ?? '' } : null;
}

export function isOverdue({ answeredMs }: Stream, at: Pick<FollowerSettings, 'pollIntervalMs'>, nowMs: number) {
  return answeredMs === null || nowMs - answeredMs >= at.pollIntervalMs;
}

/** Returns a notification once: when the end of the stream was lower than our offset for the time `gapProof`. */
function behindNotice(
  before: FollowerOffset,
  after: FollowerOffset,
  to: ResponseTime,
  { settings: { gapProofMs, behindLimitMs } }: FollowerContext,
): FollowerNotification | null {
  const { since, held } = after;
  if (since === null || held === null || !isProviderBehind(after) || held.heldMs < gapProofMs) return null;
  if (isProviderBehind(before) && (before.held?.heldMs ?? 0) >= gapProofMs) return null;
  return { kind: 'streamBehind', to, since, endsAt: held.since, limitMs: behindLimitMs };
}

function gapNotification(
  { since: lostAfter, serverDate, standingMs, gapSuspectedFromMs }: FollowerOffset,
  { why, since }: AdoptedOffset,
  to: ResponseTime,
  at: FollowerContext,
): FollowerNotification {
  const goesOnAfter = freshStart(since, at);
  const isReset = lostAfter !== null && goesOnAfter !== null && isBefore(goesOnAfter, lostAfter);
  const fromMs = gapSuspectedFromMs ?? serverDate.dateMs - standingMs;
  return { kind: isReset ? 'streamReset' : 'gapProven', why, fromMs, to, lostAfter, goesOnAfter };
}

/** Replaces our offset. If the new offset is lower, events repeat (`again`). @throws RETENTION_GAPS_REPEAT. */
function healGap(
  before: FollowerOffset,
  offset: FollowerOffset,
  adopted: AdoptedOffset,
  time: ResponseTime,
  at: FollowerContext,
): FollowerOffset {
  const furthest = before.again?.since ?? before.since;
  const isLower = furthest !== null && isBefore(adopted.since, furthest);
  return {
    ...offset,
    since: freshStart(adopted.since, at),
    again: isLower ? { since: furthest, fromMs: time.ownMs } : null,
    gapsHealedAtMs: healedOnceMore(offset.gapsHealedAtMs, time.dateMs),
  };
}

/**
 * Ends the repetition of events when our offset reaches the furthest offset that was ever read. If the end of the
 * stream is still lower after the time `offsetHold`, the provider has begun a new stream. Then the repetition ends too.
 */
function passAgain(
  offset: FollowerOffset,
  { caughtUp }: Stream,
  { ownMs }: ResponseTime,
  { settings }: FollowerContext,
): FollowerOffset {
  const { again, since } = offset;
  if (again === null || since === null) return offset;
  const isOver = caughtUp && ownMs - again.fromMs >= settings.offsetHoldMs;
  return isOver || !isBefore(since, again.since) ? { ...offset, again: null } : offset;
}

/** A source of pre-trade checks continues without an offset. So the source reads all checks of the provider again. */
function freshStart(start: string, { settings }: FollowerContext): string | null {
  return settings.begins === 'withoutOffset' ? null : start;
}

/** Without commits of empty responses, the offset would seem expired at a restart after 7 days without events. */
function isEmptyCommitDue(before: FollowerState, time: ResponseTime, { settings, nowMs }: FollowerContext): boolean {
  const { committedMs, stream, offset } = before;
  if (nowMs - committedMs >= settings.emptyCommitIntervalMs) return true;
  // A task that restarts often never waits so long. So the first response is compared with the committed date.
  const silentMs = Math.abs(time.dateMs - offset.serverDate.dateMs);
  return stream.takenMs === null && silentMs >= settings.emptyCommitIntervalMs;
}

function shownResponse(answer: OffsetResponse, at: FollowerContext): OffsetResponse {
  if (answer.kind === 'refused') return answer;
  const { next, nextId } = answer;
  return { ...answer, next: marked(next, at), nextId: nextId === null ? null : marked(nextId, at) };
}

/** A leading "=" marks an offset without an order: such offsets are compared only for equality. */
function marked(since: string | null, { settings }: FollowerContext): string {
  if (since === null) return '';
  return settings.begins === 'withoutOffset' ? `=${since}` : since;
}

function unmarkedPosition({ since, held }: StreamPosition, settings: Pick<FollowerSettings, 'begins'>) {
  const ownHeld = held && { ...held, since: unmarked(held.since, settings) ?? '' };
  return { since: unmarked(since, settings), held: ownHeld };
}

function unmarked(since: string, { begins }: Pick<FollowerSettings, 'begins'>): string | null {
  if (since === '') return null;
  return begins === 'withoutOffset' ? since.slice(1) : since;
}
