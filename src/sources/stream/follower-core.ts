import type { FollowerOffset, ResetOffset } from './committed-stream.ts';
import { wantsMark } from './end-mark.ts';
import type { FollowerAnswer, FollowerDecision, FollowerNotification, FollowerRequest } from './follower-messages.ts';
import {
  beginAt,
  type FollowedOutcome,
  type FollowerOutcome,
  type FollowerSettings,
  type FollowerState,
  followOffset,
  isOverdue,
  requestForProof,
  takeStart,
  takeVerifiedStart,
  waitForList,
} from './follower-steps.ts';
import type { ResponseTime } from './response-time.ts';
import { secondsToRetentionCliff, streamAtStart } from './stream.ts';

/**
 * Decides the next request of a source that follows one stream, and the meaning of each response. The core does no I/O
 * and reads no clock; its state changes only when a decision is committed. `nowMs` is monotonic. Each task has its own
 * core: after a failed commit, a new core starts from the committed offset.
 */
export class FollowerCore {
  readonly #settings: FollowerSettings;
  readonly #reset: ResetOffset | null;
  #state: FollowerState | null;

  constructor(
    settings: FollowerSettings,
    committed: FollowerOffset | null,
    nowMs: number,
    reset: ResetOffset | null = null,
  ) {
    this.#settings = settings;
    this.#reset = reset;
    this.#state = committed && { offset: committed, stream: streamAtStart(nowMs), committedMs: nowMs };
  }

  get offset(): FollowerOffset | null {
    return this.#state?.offset ?? null;
  }

  /** True if the newest response showed the end of the stream, and our offset is not in doubt. */
  get isCaughtUp(): boolean {
    return this.#state?.stream.caughtUp ?? false;
  }

  secondsToRetentionCliff(nowMs: number, wallMs: number): number | null {
    if (this.#state === null) return null;
    return secondsToRetentionCliff(this.#state.stream, this.#state.offset, { nowMs, wallMs });
  }

  /** True: the list gives a fresh start (the offset of a new source). False: the stream itself gives it. */
  get startsFromList(): boolean {
    return this.#settings.begins === 'atGivenStart';
  }

  /** Changes no state. `listFreeMs`: when the next request to the list may begin, monotonic. */
  next(nowMs: number, listFreeMs = nowMs): FollowerRequest {
    const mayAskStart = !this.startsFromList || nowMs >= listFreeMs;
    if (this.#state === null) {
      if (!this.startsFromList) return { kind: 'stream', since: null };
      return mayAskStart ? { kind: 'start' } : waitForList(nowMs, listFreeMs);
    }
    const { stream, offset } = this.#state;
    // An overdue request to the stream comes first, so that the proof of a gap does not delay the stream.
    if (!isOverdue(stream, this.#settings, nowMs)) {
      const proof = requestForProof(stream, this.#settings);
      if (proof !== null && (proof.kind !== 'start' || mayAskStart)) return proof;
      // Offsets of pre-trade checks have no order, so they cannot be compared with a start from the list.
      if (this.startsFromList && mayAskStart && wantsMark(stream.mark, nowMs)) return { kind: 'start' };
    }
    if (nowMs >= stream.dueMs) return { kind: 'stream', since: offset.since };
    return { kind: 'wait', ms: Math.max(1, Math.ceil(stream.dueMs - nowMs)) };
  }

  /** Decides about a response. Only `committed()` of the decision changes the state. @throws RETENTION_GAPS_REPEAT. */
  answered(answer: FollowerAnswer, nowMs: number): FollowerDecision {
    const before = this.#state;
    const { state, commits, reading, gap, ...decision } = this.#weigh(answer, nowMs);
    return {
      writes: false,
      isAgain: false,
      notifications: [],
      discarded: null,
      ...decision,
      offset: commits ? state.offset : null,
      committed: () => {
        if (this.#state !== before) throw new Error('A decision was committed twice, or after a later decision.');
        this.#state = state;
      },
    };
  }

  #weigh(answer: FollowerAnswer, nowMs: number): FollowerOutcome & Partial<FollowedOutcome> {
    const at = { settings: this.#settings, nowMs };
    const state = this.#state;
    if (state === null) {
      const wanted = this.next(nowMs).kind;
      if (answer.kind === 'start' && wanted === 'start') {
        const notifications = this.#resetNotification(answer.time, answer.since);
        return { state: beginAt(answer.since, answer.time, at), commits: true, notifications };
      }
      if (answer.kind === 'stream' && wanted === 'stream') {
        const notifications = this.#resetNotification(answer.time, null);
        return { ...followOffset(beginAt(null, answer.time, at), answer, at), notifications };
      }
      throw new Error(`A source without an offset was given ${answer.kind}.`);
    }
    switch (answer.kind) {
      case 'start':
        return takeStart(state, answer, at);
      case 'verifyStart':
        return takeVerifiedStart(state, answer, at);
      case 'stream':
      case 'refused':
        return followOffset(state, answer, at);
    }
  }

  #resetNotification(to: ResponseTime, goesOnAfter: string | null): FollowerNotification[] {
    if (this.#reset === null) return [];
    return [{ kind: 'offsetReset', before: this.#reset, filter: this.#settings.filter, to, goesOnAfter }];
  }
}
