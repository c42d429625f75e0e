import type { WalkRequest } from './walk/core-state.ts';

/** The walks that operators ask for. */
export interface WalkRequests {
  /** What is known now of this source. */
  newest(source: string): NewestWalk;
}

export interface NewestWalk {
  /** The walk that was asked for last, served or not; null when none was. */
  readonly request: WalkRequest | null;
  /** Aborts when another walk is requested: a waiting caller then reads again. */
  readonly superseded: AbortSignal;
}
