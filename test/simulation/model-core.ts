import { ReportedEvents } from '../../src/sources/stream/reported-events.ts';
import { Census } from '../../src/sources/walk/census.ts';
import { InstrumentsCore } from '../../src/sources/walk/instruments-core.ts';
import type { InstrumentsSettings } from '../../src/sources/walk/instruments-messages.ts';
import { readInstrumentsOffset, writeInstrumentsOffset } from '../../src/sources/walk/instruments-offset.ts';

/** The core under test: the real one, or a copy of it with a mistake in it. */
export interface CoreModules {
  readonly InstrumentsCore: typeof InstrumentsCore;
  readonly Census: typeof Census;
  readonly ReportedEvents: typeof ReportedEvents;
  readonly readInstrumentsOffset: typeof readInstrumentsOffset;
  readonly writeInstrumentsOffset: typeof writeInstrumentsOffset;
}

export const REAL_CORE: CoreModules = {
  InstrumentsCore,
  Census,
  ReportedEvents,
  readInstrumentsOffset,
  writeInstrumentsOffset,
};

export const MODEL_POLL_MS = 1_800_000;

export const MODEL_SETTINGS: InstrumentsSettings = {
  filter: 'scope=all',
  pollIntervalMs: MODEL_POLL_MS,
  walkIntervalMs: 86_400_000,
  handoffMarginMs: 5_000,
  emptyCommitIntervalMs: 1_200_000,
  gapProofMs: 300_000,
  offsetHoldMs: 86_400_000,
  behindLimitMs: 3_600_000,
  tombstones: true,
  maxShrink: 0.05,
  shrinkAlwaysAllowed: 2,
};

/** Mistakes in what is around the core: the loop and the opening of the writer. */
export type LapMistake =
  | 'offsetReadBeforeFencing'
  | 'writerReusedAfterUnansweredCommit'
  | 'opensWithoutProof'
  | 'absentNextTakenAsEnd'
  | 'streamStartedFromLastPage'
  | 'drainAskedBeforePage'
  | 'drainOfEarlierArrival';
