import type { Walk, WalkContext, WalkInput, WalkPhase, WalkStep } from './walk.ts';
import {
  begin,
  catchUp,
  drainMore,
  pass,
  sweepFirst,
  sweepMore,
  takeCensus,
  takeFirstPage,
  takePage,
  usePage,
  verifyEnd,
} from './walk-steps.ts';

type Cell<P extends WalkPhase, K extends WalkInput['kind']> = (
  walk: Extract<Walk, { phase: P }>,
  input: Extract<WalkInput, { kind: K }>,
  at: WalkContext,
) => WalkStep;

type WalkTable = { readonly [P in WalkPhase]: { readonly [K in WalkInput['kind']]: Cell<P, K> } };

/** This is never asked for in that phase: the caller has mixed up its responses. */
const impossible = (walk: Walk, input: WalkInput): never => {
  throw new Error(`A walk that is ${walk.phase} was given ${input.kind}, which it had not asked for.`);
};

/**
 * Every phase of a walk meets everything that can happen to it; the compiler finds a missing cell. Down: the way of a
 * walk. A new one may begin at any moment, and the stream goes on in all of them.
 * Exported for tests.
 */
export const WALK_TABLE: WalkTable = {
  idle: {
    begin,
    streamed: pass,
    census: impossible,
    page: impossible,
    usePage: impossible,
    behindLast: impossible,
    sweep: impossible,
  },
  census: {
    begin,
    streamed: pass,
    census: takeCensus,
    page: impossible,
    usePage: impossible,
    behindLast: impossible,
    sweep: impossible,
  },
  margin: {
    begin,
    streamed: catchUp,
    census: impossible,
    page: takeFirstPage,
    usePage: impossible,
    behindLast: impossible,
    sweep: impossible,
  },
  paging: {
    begin,
    streamed: pass,
    census: impossible,
    page: takePage,
    usePage: impossible,
    behindLast: impossible,
    sweep: impossible,
  },
  draining: {
    begin,
    streamed: drainMore,
    census: impossible,
    page: impossible,
    usePage: usePage,
    behindLast: impossible,
    sweep: impossible,
  },
  verifying: {
    begin,
    streamed: pass,
    census: impossible,
    page: impossible,
    usePage: impossible,
    behindLast: verifyEnd,
    sweep: impossible,
  },
  closing: {
    begin,
    streamed: drainMore,
    census: impossible,
    page: impossible,
    usePage: impossible,
    behindLast: impossible,
    sweep: sweepFirst,
  },
  sweeping: {
    begin,
    streamed: pass,
    census: impossible,
    page: impossible,
    usePage: impossible,
    behindLast: impossible,
    sweep: sweepMore,
  },
};

/** What becomes of the walk; nothing that it is given is changed. */
export function stepWalk(walk: Walk, input: WalkInput, at: WalkContext): WalkStep {
  const cell = WALK_TABLE[walk.phase][input.kind] as (walk: Walk, input: WalkInput, at: WalkContext) => WalkStep;
  return cell(walk, input, at);
}
