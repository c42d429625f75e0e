import { markAt } from './end-mark.ts';
import type {
  FollowerAnswer,
  FollowerDecision,
  FollowerNotification,
  FollowerRequest,
  StreamStart,
} from './follower-messages.ts';
import { type FollowerOffset, offsetAtStart } from './follower-offset.ts';
import { confirmOffset, giveOffsetUp } from './fresh-start.ts';
import type { ResponseTime } from './response-time.ts';
import { type GapInput, isOffsetInDoubt, refusesOffset, weighGap } from './retention-gap.ts';
import {
  followStream,
  type OffsetResponse,
  type Stream,
  type StreamPosition,
  type StreamStep,
  streamAtStart,
  takeFreshStart,
} from './stream.ts';
import { compareStreamOffsets } from './stream-offset.ts';

/** The settings of a source that follows a stream, as far as its decisions need them. Times in milliseconds. */
export interface FollowerSettings {
  /** The filter as one text, committed beside the offset. */
  readonly filter: string;
  /**
   * `atGivenStart`: another request gives the first offset, and offsets can be compared (events). `withoutOffset`: the
   * first request has none, and offsets can only be compared for equality (pre-trade checks, part 4.2 of
   * src/provider/README.md).
   */
  readonly begins: 'atGivenStart' | 'withoutOffset';
  readonly pollIntervalMs: number;
  readonly emptyCommitIntervalMs: number;
  readonly gapProofMs: number;
  /** How long a fresh offset is held beside one that does not move before it takes its place. */
  readonly offsetHoldMs: number;
}

/** All that moves on with a commit. */
export interface FollowerState {
  /** As it will be committed next; may be ahead of what is committed, by answers without items. */
  readonly offset: FollowerOffset;
  readonly stream: Stream;
  /** When an offset was last committed by this task, by the monotonic clock. */
  readonly committedMs: number;
}

/** All that a decision may look at; it changes none of it. */
export interface FollowerContext {
  readonly settings: FollowerSettings;
  readonly nowMs: number;
}

/** A decision, and what its commit changes. */
export interface FollowerOutcome extends Partial<Omit<FollowerDecision, 'committed' | 'offset'>> {
  readonly state: FollowerState;
  readonly commits: boolean;
}

/** What a response to our offset came to. */
export interface FollowedOutcome extends FollowerOutcome {
  /** Null where it was not taken. */
  readonly reading: StreamStep['reading'];
  /** What it shows; a suspicion, or a loss that is certain, leaves our offset where it is. */
  readonly gap: 'suspected' | 'proven' | null;
}

type Streamed = Extract<FollowerAnswer, { kind: 'stream' | 'refused' }>;

/** No committed offset: the stream begins here, with no gap behind it. */
export function beginAt(since: string | null, time: ResponseTime, { settings, nowMs }: FollowerContext): FollowerState {
  return {
    offset: offsetAtStart(settings.filter, since, time),
    stream: streamAtStart(nowMs),
    committedMs: nowMs,
  };
}

/** One response to our offset: its items are taken or discarded, and a retention gap is suspected, proven or neither. */
export function followOffset(state: FollowerState, answer: Streamed, at: FollowerContext): FollowedOutcome {
  const { offset } = state;
  if (answer.kind === 'refused' && (offset.since === null || !refusesOffset(answer.status))) {
    throw new Error(`Status ${answer.status} says nothing about an offset, and was handed over as its refusal.`);
  }
  const items = answer.kind === 'stream' ? answer.items : 0;
  const { held } = offset;
  const position = {
    ...offset,
    since: shown(offset.since, at),
    held: held && { ...held, since: shown(held.since, at) },
  };
  const step = followStream(state.stream, position, asOffsetResponse(answer, at), { ...gapContext(at), events: items });
  const taken = answer.kind === 'stream' && step.reading !== null ? answer : null;
  const followed = { ...offset, ...step.position, ...unshownPosition(step.position, at.settings) };
  let after: FollowerState = { ...state, stream: step.stream, offset: followed };
  const notifications: FollowerNotification[] = [];
  if (step.suspects) {
    const fromMs = offset.serverDate.dateMs - offset.standingMs;
    notifications.push({ kind: 'gapSuspected', fromMs, to: answer.time, since: offset.since, ageMs: step.ageMs });
  }
  const { lost } = step;
  if (lost !== null) notifications.push({ kind: 'gapCertain', ...lost, since: offset.since, to: answer.time });
  const isProven = step.stream.proof.phase === 'proven';
  if (isProven) {
    notifications.push(gapNotification(offset, step.stream, answer.time, at));
    after = healGap(after, answer.time, at);
  }
  const writes = taken !== null && items > 0;
  // The first offset of a stream that had none is worth a commit of its own.
  const isEmptyCommit = taken !== null && (offset.since === null || isEmptyCommitDue(state, taken.time, at));
  const isSuspected = step.suspects || lost !== null;
  const commits = isProven || isSuspected || step.renews || writes || isEmptyCommit;
  return {
    state: commits ? { ...after, committedMs: at.nowMs } : after,
    commits,
    writes,
    notifications,
    discarded: step.discarded,
    reading: step.reading,
    gap: isProven ? 'proven' : isSuspected ? 'suspected' : null,
  };
}

/** A fresh start of the stream. One that equals our offset: nothing lies behind it, so there is no gap. */
export function takeStart(state: FollowerState, fresh: StreamStart, at: FollowerContext): FollowerOutcome {
  const { offset, stream } = state;
  const { since, newest = null, askedMs = at.nowMs } = fresh;
  const isWithoutOffset = at.settings.begins === 'withoutOffset';
  // Without an offset the provider may begin with its oldest check: ours can be the newest offset all the same.
  const isOurs = since === offset.since || (isWithoutOffset && newest !== null && newest === offset.since);
  const ours = shown(offset.since, at);
  // Where nothing is wrong with ours, only the newest can take its place: what lies before it is on the topic already.
  const isRenewal = stream.proof.sign === 'unmoved';
  const given = isWithoutOffset && isRenewal ? newest : since;
  const shownStart = given === null ? null : shown(given, at);
  const start = { kind: 'start', since: isOurs ? ours : shownStart, ours, askedMs } as const;
  const proof = weighGap(stream.proof, start, gapContext(at));
  const mark = isWithoutOffset ? stream.mark : markAt(stream.mark, { since, ours, askedMs });
  // Where a doubt is over, our own offset is asked at once: what waits for the end of the stream goes on.
  const isOver = isOffsetInDoubt(stream.proof) && !isOffsetInDoubt(proof);
  const asked = {
    ...takeFreshStart({ ...stream, mark }, proof, start, at.nowMs),
    dueMs: isOver ? at.nowMs : stream.dueMs,
  };
  const after = { ...state, ...(isOurs ? confirmOffset(asked, offset, askedMs) : { stream: asked }) };
  // The request without an offset does both at once: it gives a fresh start, and it shows that this start gets 200.
  return isWithoutOffset && !isRenewal
    ? takeVerifiedStart(after, { taken: true, items: 0 }, at)
    : { state: after, commits: false };
}

/**
 * Whether the fresh start gets 200. Our own offset is asked again at once, so that the round is complete. Where offsets
 * can only be compared for equality, a start with items behind it is not the newest, and may lie before our offset.
 */
export function takeVerifiedStart(
  state: FollowerState,
  { taken, items }: Pick<Extract<FollowerAnswer, { kind: 'verifyStart' }>, 'taken' | 'items'>,
  at: FollowerContext,
): FollowerOutcome {
  const { stream } = state;
  const isTaken = taken && !(at.settings.begins === 'withoutOffset' && items > 0);
  const input: GapInput = isTaken ? { kind: 'startVerified', items } : { kind: 'startRefused' };
  const proof = weighGap(stream.proof, input, gapContext(at));
  const dueMs = isTaken && isOffsetInDoubt(proof) ? at.nowMs : stream.dueMs;
  return { state: { ...state, stream: { ...stream, proof, dueMs } }, commits: false };
}

/** The longest wait for a list that is being asked; the wait ends as soon as it has answered. */
const LONGEST_WAIT_MS = 60_000;

/** Without an offset there is nothing to do before the list has given one. */
export function waitForList(nowMs: number, listFreeMs: number): Extract<FollowerRequest, { kind: 'wait' }> {
  return { kind: 'wait', ms: Math.ceil(Math.min(listFreeMs - nowMs, LONGEST_WAIT_MS)) };
}

/** What a proof of a gap wants: a fresh start, then whether it is served; null for neither. */
export function requestForProof(
  { proof }: Stream,
  settings: Pick<FollowerSettings, 'begins'>,
): Extract<FollowerRequest, { kind: 'start' | 'verifyStart' }> | null {
  if (proof.phase === 'wantsStart') return { kind: 'start' };
  if (proof.phase !== 'wantsVerify' || proof.start === null) return null;
  return { kind: 'verifyStart', since: unshown(proof.start, settings) ?? '' };
}

/** Whether our offset was not answered for a whole interval: then the stream comes before all else. */
export function isOverdue(
  { answeredMs }: Stream,
  { pollIntervalMs }: Pick<FollowerSettings, 'pollIntervalMs'>,
  nowMs: number,
) {
  return answeredMs === null || nowMs - answeredMs >= pollIntervalMs;
}

function gapNotification(
  { since: lostAfter, serverDate, standingMs, gapSuspectedFromMs }: FollowerOffset,
  { proof: { sign, start } }: Stream,
  to: ResponseTime,
  at: FollowerContext,
): FollowerNotification {
  if (start === null || sign === null) throw new Error('A gap was proven without a fresh start.');
  const goesOnAfter = freshStart(start, at);
  const order = lostAfter === null || goesOnAfter === null ? null : compareStreamOffsets(goesOnAfter, lostAfter);
  return {
    kind: order !== null && order < 0 ? 'streamReset' : 'gapProven',
    why: sign,
    fromMs: gapSuspectedFromMs ?? serverDate.dateMs - standingMs,
    to,
    lostAfter,
    goesOnAfter,
  };
}

/** Gives our offset up for the fresh start. */
function healGap(state: FollowerState, time: ResponseTime, at: FollowerContext): FollowerState {
  const { start } = state.stream.proof;
  const { stream, offset } = giveOffsetUp(state.stream, state.offset, { time, nowMs: at.nowMs });
  return { ...state, stream, offset: { ...offset, since: start === null ? offset.since : freshStart(start, at) } };
}

/** A stream that begins without an offset goes on without one: then all is read again that it still serves. */
function freshStart(start: string, { settings }: FollowerContext): string | null {
  return settings.begins === 'withoutOffset' ? null : start;
}

/** Without it a quiet stream would be resumed after 7 days from an offset that has expired. */
function isEmptyCommitDue(before: FollowerState, time: ResponseTime, { settings, nowMs }: FollowerContext): boolean {
  const { committedMs, stream, offset } = before;
  if (nowMs - committedMs >= settings.emptyCommitIntervalMs) return true;
  // Many short task lives in a row must not mean that the offset is never committed.
  const silentMs = Math.abs(time.dateMs - offset.serverDate.dateMs);
  return stream.takenMs === null && silentMs >= settings.emptyCommitIntervalMs;
}

function gapContext({ settings, nowMs }: FollowerContext) {
  const { pollIntervalMs, gapProofMs, offsetHoldMs, begins } = settings;
  return { nowMs, pollIntervalMs, gapProofMs, offsetHoldMs, rereadsAll: begins === 'withoutOffset' };
}

function asOffsetResponse(answer: Streamed, at: FollowerContext): OffsetResponse {
  const { time } = answer;
  if (answer.kind === 'refused') return { kind: 'refused', time };
  const { next, nextId } = answer;
  return { kind: 'events', time, next: shown(next, at), nextId: nextId === null ? null : shown(nextId, at) };
}

/**
 * An offset as the shared stream code sees it. A leading "=" hides the form in which offsets can be ordered, so that the
 * shared code compares such offsets for equality alone.
 */
function shown(since: string | null, { settings }: FollowerContext): string {
  if (since === null) return '';
  return settings.begins === 'withoutOffset' ? `=${since}` : since;
}

function unshownPosition({ since, held }: StreamPosition, settings: Pick<FollowerSettings, 'begins'>) {
  return {
    since: unshown(since, settings),
    held: held && { ...held, since: unshown(held.since, settings) ?? '' },
  };
}

/** An offset as the provider knows it, of one that was shown. */
function unshown(since: string, { begins }: Pick<FollowerSettings, 'begins'>): string | null {
  if (since === '') return null;
  return begins === 'withoutOffset' ? since.slice(1) : since;
}
