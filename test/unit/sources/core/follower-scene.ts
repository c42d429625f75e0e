import type { FollowerOffset, ResetOffset } from '../../../../src/sources/stream/committed-stream.ts';
import { FollowerCore } from '../../../../src/sources/stream/follower-core.ts';
import type { FollowerAnswer, FollowerDecision } from '../../../../src/sources/stream/follower-messages.ts';
import type { FollowerSettings } from '../../../../src/sources/stream/follower-steps.ts';
import { responseTime } from '../../../../src/sources/stream/response-time.ts';

export const DAY_MS = 86_400_000;
export const NOON = Date.parse('2026-01-01T12:00:00Z');
export const POLL_MS = 30_000;

export const EVENTS: FollowerSettings = {
  filter: 'scope=all eventType=newissue',
  begins: 'atGivenStart',
  pollIntervalMs: POLL_MS,
  emptyCommitIntervalMs: 60_000,
  gapProofMs: 300_000,
  offsetHoldMs: DAY_MS,
  behindLimitMs: 3_600_000,
};
export const CHECKS: FollowerSettings = { ...EVENTS, filter: 'all', begins: 'withoutOffset' };

export const provider = (dateMs: number) => responseTime(dateMs, dateMs);
export const offsetAt = (settings: FollowerSettings, since: string | null, dateMs = NOON): FollowerOffset => ({
  filter: settings.filter,
  since,
  serverDate: provider(dateMs),
  standingMs: 0,
  standingLeastMs: 0,
  gapSuspectedFromMs: null,
  held: null,
  again: null,
  gapsHealedAtMs: [],
});

export type Given =
  | Partial<Extract<FollowerAnswer, { kind: 'stream' }>>
  | { kind: 'verifyStart'; taken: boolean; items?: number; next?: string }
  | { kind: 'start'; since: string; newest?: string }
  | { kind: 'refused'; status?: number };

/** What is notified before a proof ends. */
const PASSING = ['gapSuspected', 'gapCertain', 'streamBehind'];

/** A core with its clocks: the monotonic one and the provider's move together. */
export class Scene {
  readonly core: FollowerCore;
  nowMs = 1_000;
  dateMs: number;

  constructor(
    settings: FollowerSettings,
    committed: FollowerOffset | null,
    dateMs = NOON,
    reset: ResetOffset | null = null,
  ) {
    this.core = new FollowerCore(settings, committed, this.nowMs, reset);
    this.dateMs = dateMs;
  }

  pass(ms: number): this {
    this.nowMs += ms;
    this.dateMs += ms;
    return this;
  }

  next() {
    return this.core.next(this.nowMs);
  }

  /** Answers whatever was asked, without committing. */
  answer(given: Given): FollowerDecision {
    const time = provider(this.dateMs);
    const full = (): FollowerAnswer => {
      switch (given.kind) {
        case 'start':
          return { newest: null, ...given, time };
        case 'refused':
          return { status: 410, ...given, time };
        case 'verifyStart':
          return { items: 0, next: null, ...given };
        default:
          return { kind: 'stream', items: 0, next: '9-9', nextId: null, time, ...given };
      }
    };
    return this.core.answered(full(), this.nowMs);
  }

  take(given: Given): FollowerDecision {
    const decision = this.answer(given);
    decision.committed();
    return decision;
  }

  /** A round: an answer to our offset, a fresh start that gets 200, and the same answer again, which may be decided upon. */
  round(stream: Given, start = '80-0'): FollowerDecision {
    this.take(stream);
    this.take({ kind: 'start', since: start });
    if (this.next().kind === 'verifyStart') this.take({ kind: 'verifyStart', taken: true });
    return this.take(stream);
  }

  /** Asks when it is due, and answers each kind of request as given, until something is notified or 1,000 are asked. */
  prove(answers: { stream: Given; start: Given; verifies?: boolean }): FollowerDecision | null {
    for (let asked = 0; asked < 1_000; asked++) {
      const wanted = this.next();
      if (wanted.kind === 'wait') {
        this.pass(wanted.ms);
        continue;
      }
      this.pass(10);
      const given: Given =
        wanted.kind === 'verifyStart' ? { kind: 'verifyStart', taken: answers.verifies ?? true } : answers[wanted.kind];
      const decision = this.take(given);
      const isHealed = ({ kind }: { readonly kind: string }) => !PASSING.includes(kind);
      if (decision.notifications.some(isHealed)) return decision;
    }
    return null;
  }
}

/** A source that comes back after eight days. */
export const expired = (settings: FollowerSettings) =>
  new Scene(settings, offsetAt(settings, '5-0'), NOON + 8 * DAY_MS);

/** Asks whatever is wanted, until the time is over or something other than a suspicion is notified. */
export function liveOn(scene: Scene, ms: number, answers: { stream: Given; verifyItems: number }) {
  for (const endMs = scene.nowMs + ms; scene.nowMs < endMs; ) {
    const wanted = scene.next();
    if (wanted.kind === 'wait') {
      scene.pass(Math.min(wanted.ms, endMs - scene.nowMs));
      continue;
    }
    const verifyStart = { kind: 'verifyStart', taken: true, items: answers.verifyItems } as const;
    const start = { kind: 'start', since: '80-0' } as const;
    const decision = scene.take({ verifyStart, start, stream: answers.stream }[wanted.kind]);
    if (decision.notifications.some(({ kind }) => !PASSING.includes(kind))) return decision;
  }
  return null;
}
