import { ConnectorError } from '../../errors.ts';
import type { InstrumentsOffset } from './instruments-offset.ts';

/** What an instruments source asks the provider next. */
export type WalkRequest =
  /** The list with limit=1, for the stream's start and the provider's clock; its row is not used. */
  | { readonly kind: 'probe' }
  /** One page of the list; minId null for the first. */
  | { readonly kind: 'page'; readonly minId: string | null };

/** When an answer was given, by the provider's clock where it sent one. */
export interface AnswerTime {
  readonly dateMs: number;
  readonly from: 'provider' | 'connector';
}

/** What an answer means: the offset to commit with it (null: nothing to commit), and the wait before the next request. */
export interface WalkDecision {
  readonly offset: InstrumentsOffset | null;
  readonly waitMs: number;
}

/** The decision of a page: it always has an offset to commit. */
export interface PageDecision extends WalkDecision {
  readonly offset: InstrumentsOffset;
}

/** The next request is a function of the committed offset alone, so that a restart asks what it would have asked. */
export function nextRequest(offset: InstrumentsOffset | null): WalkRequest {
  return offset?.walkPending ? { kind: 'page', minId: offset.walkCursor } : { kind: 'probe' };
}

/**
 * A probe begins the first walk, or the next one when the interval is over. The stream's start is committed *before*
 * any row is asked for: an event that happens during the walk then lies behind it, and cannot be missed.
 */
export function afterProbe(
  offset: InstrumentsOffset | null,
  probe: { readonly filter: string; readonly since: string; readonly time: AnswerTime },
  walkIntervalMs: number,
): WalkDecision {
  const remainingMs = offset === null ? 0 : offset.walkStartedAtMs + walkIntervalMs - probe.time.dateMs;
  // A clock that was set back must not postpone the walk beyond one interval.
  if (remainingMs > 0) return { offset: null, waitMs: Math.min(remainingMs, walkIntervalMs) };
  return {
    offset: {
      filter: probe.filter,
      since: probe.since,
      serverDateMs: probe.time.dateMs,
      serverDateFrom: probe.time.from,
      walk: (offset?.walk ?? 0) + 1,
      walkStartedAtMs: probe.time.dateMs,
      walkPending: true,
      walkCursor: null,
      walkPages: 0,
      walkRows: 0,
      walkDeadLetters: 0,
    },
    waitMs: 0,
  };
}

/** A page moves the cursor; the one whose `links.next` is explicitly empty ends the walk. */
export function afterPage(
  offset: InstrumentsOffset,
  page: {
    readonly next: string | null;
    readonly rows: number;
    readonly deadLetters: number;
    readonly time: AnswerTime;
  },
  walkIntervalMs: number,
): PageDecision {
  assertCursorRises(offset.walkCursor, page.next);
  const moved = {
    ...offset,
    serverDateMs: page.time.dateMs,
    serverDateFrom: page.time.from,
    walkPending: page.next !== null,
    walkCursor: page.next,
    walkPages: offset.walkPages + 1,
    walkRows: offset.walkRows + page.rows,
    walkDeadLetters: offset.walkDeadLetters + page.deadLetters,
  };
  if (page.next !== null) return { offset: moved, waitMs: 0 };
  const untilNextWalkMs = offset.walkStartedAtMs + walkIntervalMs - page.time.dateMs;
  return { offset: moved, waitMs: Math.max(0, Math.min(untilNextWalkMs, walkIntervalMs)) };
}

/** A cursor that stays or falls would walk the same pages for ever; one that rises ends by itself. */
export function assertCursorRises(current: string | null, next: string | null): void {
  if (current === null || next === null || BigInt(next) > BigInt(current)) return;
  throw new ConnectorError(
    'WALK_CURSOR_REPEATED',
    `The instrument list answered minId=${current} with a link to minId=${next}, which does not lie behind it. ` +
      'Nothing of that page was written.',
  );
}
