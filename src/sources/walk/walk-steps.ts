import { ConnectorError } from '../../errors.ts';
import type { Census } from './census.ts';
import type { CoreWrite, WalkNotification } from './instruments-messages.ts';
import { beginWalk, type InstrumentsOffset, walkIntervalMs } from './instruments-offset.ts';
import { judgeLag, marginMs, noteLag, pageAge, rememberedLagMs } from './list-lag.ts';
import { addCounts, recordRows, sortRows } from './page-rows.ts';
import { NOTHING_DECIDED, planSweep, type SweepPlan } from './sweep.ts';
import {
  beginDrain,
  drainFurther,
  type Walk,
  type WalkContext,
  type WalkInput,
  type WalkPhase,
  type WalkStep,
} from './walk.ts';

const MOST_PAGES = 1_000_000;
/** At most this number of consecutive walks may be given up. If one more walk is given up, the source stops. */
const MOST_GIVEN_UP = 3;
const LEAST_REST_MS = 1_000;
/** At most this many requests verify that no row follows the last page. New instruments never fill so many pages meanwhile. */
export const MOST_VERIFYING = 20;
/** After this number of consecutive walks that could not find the removed instruments, operators are notified. */
const WALKS_TO_REPORT = 2;
/** Ids are int64 (part 2.2 of src/provider/README.md). */
const HIGHEST_ID = 2n ** 63n - 1n;
const TOMBSTONES_AT_ONCE = 10_000;

type In<P extends WalkPhase> = Extract<Walk, { phase: P }>;
type Of<K extends WalkInput['kind']> = Extract<WalkInput, { kind: K }>;

function begin(): WalkStep {
  return { walk: { phase: 'census', notBeforeMs: 0 } };
}

function takeCensus(_: In<'census'>, { census }: Of<'census'>, { nowMs }: WalkContext): WalkStep {
  return { walk: { phase: 'margin', drain: beginDrain(nowMs) }, census };
}

function takeFirstPage(walk: In<'margin'>, page: Of<'page'>, at: WalkContext): WalkStep {
  const { nowMs, settings, offset } = at;
  const { drain } = walk;
  if (!drain.isReached || nowMs - drain.startedMs < marginMs(settings, offset)) {
    throw new Error('A page was delivered before the margin had passed.');
  }
  const lag = { censusMs: drain.startedMs, pagesMs: nowMs, contradicted: new Map(), linkedMs: 0 };
  return takePage({ phase: 'paging', flaws: new Set(), lastId: null, lag }, page, at);
}

function takePage(walk: In<'paging'>, page: Of<'page'>, at: WalkContext): WalkStep {
  const { offset, nowMs } = at;
  const { minId, rows, next, start } = page;
  const why = endless(minId, next, offset.counts.pages);
  if (why !== null) return giveUp(why, at);
  return {
    walk: { ...walk, phase: 'draining', page: { minId, rows, next, start }, drain: beginDrain(nowMs) },
    ahead: next === null ? null : { walk: offset.walk, minId: next },
  };
}

/** Returns why the list would never end; otherwise null. A cursor that does not rise would repeat pages forever. */
function endless(current: string | null, next: string | null, pages: number): string | null {
  if (pages >= MOST_PAGES) return `The instrument list does not end after ${MOST_PAGES} pages.`;
  if (current === null || next === null || BigInt(next) > BigInt(current)) return null;
  return `The instrument list answered minId=${current} with a link to minId=${next}, which is not higher.`;
}

/** Begins another walk after a pause. The pause doubles with each consecutive walk that is given up. */
function giveUp(why: string, { offset, settings, nowMs }: WalkContext): WalkStep {
  const { walk, walksGivenUp } = offset;
  if (walksGivenUp >= MOST_GIVEN_UP) {
    const before = `The ${MOST_GIVEN_UP} previous walks were given up too, because the list did not end.`;
    throw new ConnectorError('WALK_CURSOR_REPEATED', `${why} ${before} No row of the page was written.`);
  }
  const waitMs = Math.max(settings.pollIntervalMs, LEAST_REST_MS) * 2 ** walksGivenUp;
  const fresh = beginWalk(offset, offset.serverDate);
  return {
    walk: { phase: 'census', notBeforeMs: nowMs + waitMs },
    offset: { ...fresh, walksGivenUp: walksGivenUp + 1 },
    commits: true,
    notifications: [{ kind: 'walkGivenUp', walk, why, waitMs }],
    begins: 'afterGivenUp',
  };
}

function drainMore(walk: In<'margin' | 'draining' | 'closing'>, streamed: Of<'streamed'>): WalkStep {
  return { walk: { ...walk, drain: drainFurther(walk.drain, streamed) } };
}

function usePage(walk: In<'draining'>, _: Of<'usePage'>, at: WalkContext): WalkStep {
  const { page, drain } = walk;
  if (!drain.isReached || at.census === null) throw new Error('A page was used before it was drained.');
  const { behindMs, isOldFor } = pageAge(page.start, at.offset.streamStart, at.census);
  const sorted = sortRows({ ...page, isOldFor }, at.touched, at.census, walk.lastId);
  const { contradicted } = sorted;
  const lag = noteLag(walk.lag, { contradicted, behindMs, cameMs: drain.startedMs }, at.census);
  const flaws = new Set([...walk.flaws, ...sorted.flaws]);
  const lastId = highest(walk.lastId, sorted.lastId);
  return {
    walk:
      page.next === null
        ? { phase: 'verifying', flaws, lastId, lag, places: placesToVerify(lastId), asked: 0, behind: new Set() }
        : { phase: 'paging', flaws, lastId, lag },
    offset: { ...at.offset, walkCursor: page.next, counts: addCounts(at.offset.counts, sorted.counts) },
    commits: true,
    write: { kind: 'rows', rows: sorted.write, counts: sorted.counts },
    record: (census) => recordRows(page.rows, sorted, census),
  };
}

/**
 * Returns each `minId` for the requests that look for rows after the last page. If the provider's `minId` is exclusive,
 * the request with the last id finds the next row. If `minId` is inclusive, the request with the last id plus 1 finds
 * the next row. An empty list is requested from its beginning.
 */
export function placesToVerify(lastId: bigint | null): readonly (string | null)[] {
  if (lastId === null) return [null];
  return lastId === HIGHEST_ID ? [String(lastId)] : [String(lastId), String(lastId + 1n)];
}

/** Takes the response to a request for rows after the last page. New ids are a flaw, unless events touch all of them. */
function verifyEnd(walk: In<'verifying'>, { rows, next }: Of<'behindLast'>, { nowMs }: WalkContext): WalkStep {
  const { lastId, lag } = walk;
  const [place = null, ...others] = walk.places;
  const asked = walk.asked + 1;
  const behind = new Set(walk.behind);
  for (const { id } of rows) if (id !== null && (lastId === null || id > lastId)) behind.add(id);
  const goesOn = next !== null && asked < MOST_VERIFYING && endless(place, next, 0) === null;
  const isRead = rows.every(({ id }) => id !== null) && (next === null || goesOn);
  const places = next === null ? others : [next, ...others];
  if (isRead && places.length > 0) return { walk: { ...walk, places, asked, behind } };
  const flaws = isRead ? walk.flaws : new Set([...walk.flaws, 'rowsBehindTheEnd' as const]);
  return { walk: { phase: 'closing', drain: beginDrain(nowMs), flaws, lastId, lag, asked, behind } };
}

/** Writes the tombstones; many tombstones need several transactions. The last transaction ends the walk. */
function sweep(walk: In<'closing'>, _: Of<'sweep'>, at: WalkContext): WalkStep {
  const { offset, settings } = at;
  if (!walk.drain.isReached) throw new Error('A walk was ended before its final drain.');
  const flaws = new Set(walk.flaws);
  if (![...walk.behind].every((id) => at.touched.has(id))) flaws.add('rowsBehindTheEnd');
  const isOld = offset.again !== null;
  const seen = isOld
    ? null
    : judgeLag(walk.lag, { ...at, isPartial: offset.walkResumed || flaws.has('rowsBehindTheEnd') });
  if (seen !== null) flaws.add('listLags');
  // While the stream repeats events, the list may be old too and lack new instruments.
  const plan: SweepPlan =
    isOld && settings.tombstones ? { ...NOTHING_DECIDED, outcome: 'repeats' } : planSweep({ ...at, flaws });
  const ids = plan.gone.slice(0, TOMBSTONES_AT_ONCE);
  const counts = { ...offset.counts, gone: offset.counts.gone + ids.length };
  const write: CoreWrite = ids.length === 0 ? { kind: 'nothing' } : { kind: 'tombstones', ids };
  if (plan.gone.length > ids.length) {
    const record = (census: Census) => {
      for (const id of ids) census.delete(id);
    };
    return { walk, offset: { ...offset, counts }, commits: true, write, record };
  }
  const listLagMs = isOld ? offset.listLagMs : rememberedLagMs(offset.listLagMs, seen);
  const ended = { ...offset, counts, listLagMs, walkLagged: seen !== null };
  const [nextMs, waitMs] = [walkIntervalMs(ended, settings), marginMs(settings, ended)];
  const listLags = seen === null ? [] : [{ kind: 'listLags', walk: offset.walk, nextMs, waitMs, ...seen } as const];
  const notifications = [...listLags, ...plan.notifications];
  return { ...endWalk(ended, { ...plan, notifications }), commits: true, write };
}

/** A walk that was resumed after a restart cannot find the removed instruments, so a fresh walk follows. */
function endWalk(before: InstrumentsOffset, { outcome, notifications }: SweepPlan): WalkStep {
  const { walk, walkStartedAtMs, walkResumed, counts, walksWithoutDeletion: earlier } = before;
  const walksWithoutDeletion = { gone: 0, refused: 0, repeats: earlier, nothing: earlier + 1 }[outcome];
  const offset = { ...before, walksGivenUp: 0, walksWithoutDeletion };
  const startedAtMs = walkStartedAtMs;
  const resumed = walkResumed && outcome === 'nothing' ? 'resumed' : null;
  const completed: WalkNotification = {
    kind: 'walkCompleted',
    walk,
    startedAtMs,
    resumed: walkResumed,
    deletedNothing: outcome === 'repeats' ? outcome : resumed,
    counts,
  };
  const standStill = { kind: 'deletionsStandStill', walk, walks: walksWithoutDeletion } as const;
  const isReported = outcome === 'nothing' && walksWithoutDeletion >= WALKS_TO_REPORT;
  const reported = [completed, ...notifications, ...(isReported ? [standStill] : [])];
  if (walkResumed) {
    const fresh = beginWalk(offset, offset.serverDate);
    return { ...begin(), offset: fresh, notifications: reported, begins: 'afterResumed' };
  }
  const ended = { ...offset, walkPending: false, walkCursor: null, walkAllowShrink: null };
  return { walk: { phase: 'idle' }, offset: ended, notifications: reported };
}

function highest(a: bigint | null, b: bigint | null): bigint | null {
  if (a === null || b === null) return a ?? b;
  return a > b ? a : b;
}

type Cell<P extends WalkPhase, K extends WalkInput['kind']> = (walk: In<P>, input: Of<K>, at: WalkContext) => WalkStep;

/** The inputs that each phase accepts. Every phase also accepts `begin` and `streamed`. */
const STEPS: { readonly [P in WalkPhase]: { readonly [K in WalkInput['kind']]?: Cell<P, K> } } = {
  idle: {},
  census: { census: takeCensus },
  margin: { streamed: drainMore, page: takeFirstPage },
  paging: { page: takePage },
  draining: { streamed: drainMore, usePage },
  verifying: { behindLast: verifyEnd },
  closing: { streamed: drainMore, sweep },
};

/** Returns the next step of a walk after an input. @throws Error if the phase of the walk does not accept the input. */
export function stepWalk(walk: Walk, input: WalkInput, at: WalkContext): WalkStep {
  if (input.kind === 'begin') return begin();
  const step = STEPS[walk.phase][input.kind] as
    | ((walk: Walk, input: WalkInput, at: WalkContext) => WalkStep)
    | undefined;
  if (step !== undefined) return step(walk, input, at);
  // Outside a drain, a response of the stream does not change the phase.
  if (input.kind === 'streamed') return { walk };
  throw new Error(`A walk that is ${walk.phase} received ${input.kind}, but had not requested it.`);
}
