import { wantsMark } from '../stream/end-mark.ts';
import { isOverdue, requestForProof } from '../stream/follower-steps.ts';
import { isReadingOn } from '../stream/stream.ts';
import type { CoreContext, CoreState } from './core-state.ts';
import { wantsStart } from './drain.ts';
import type { CoreRequest } from './instruments-messages.ts';
import { marginMs } from './list-lag.ts';

/** A request, or a step of the walk that asks nothing. */
export type Wanted =
  | Exclude<CoreRequest, { kind: 'commit' }>
  | { readonly kind: 'usePage' }
  | { readonly kind: 'sweep' };

/**
 * What is wanted now. The stream comes first wherever it is overdue, so that neither a list that fails nor a gap that
 * is being proven can starve it; and where it always has more, a page comes in between. Before `listFreeMs` the list is
 * not asked, since it is being asked or has refused; the stream goes on meanwhile.
 */
export function nextRequest(
  { walk, stream, offset }: CoreState,
  settings: CoreContext['settings'],
  nowMs: number,
  listFreeMs: number,
): Wanted {
  const events: Wanted = { kind: 'stream', since: offset.since };
  const unlessOverdue = (wanted: Wanted) => (isOverdue(stream, settings, nowMs) ? events : wanted);
  // A walk that waits for the end of the stream leaves no pause in which the stream could move on again.
  const isAwaited = 'drain' in walk && walk.drain.ended === null && isReadingOn(stream);
  const streamBy = (otherwiseMs: number): Wanted => {
    if (nowMs >= stream.dueMs || isAwaited) return events;
    return { kind: 'wait', ms: Math.max(1, Math.ceil(Math.min(stream.dueMs, otherwiseMs) - nowMs)) };
  };
  const fromList = (wanted: Wanted) => (nowMs < listFreeMs ? streamBy(listFreeMs) : unlessOverdue(wanted));
  const follow = () => streamBy(Number.POSITIVE_INFINITY);

  // Nothing may come between the final drain and the tombstones, or between these.
  if (walk.phase === 'sweeping') return { kind: 'sweep' };
  if (walk.phase === 'closing' && walk.drain.ended !== null) return { kind: 'sweep' };
  if (walk.phase === 'draining' && walk.drain.ended !== null) return { kind: 'usePage' };
  const proof = requestForProof(stream, settings);
  if (proof !== null) return proof.kind === 'start' ? fromList(proof) : unlessOverdue(proof);

  // A stream that never pauses, and whose responses do not name its end, ends where a fresh start of it lies.
  const isEndless = 'drain' in walk && isReadingOn(stream) && !stream.namesEnd;
  if (isEndless && wantsStart(walk.drain, { nowMs, marginMs: marginMs(settings, offset) })) {
    return fromList({ kind: 'start' });
  }

  // Whether a source has caught up is no less of interest while a walk goes on, or waits for the list.
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
      if (walk.drain.ended === null) return follow();
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
