import assert from 'node:assert/strict';
import type { ResetOffset } from '../../../../src/sources/stream/committed-stream.ts';
import { responseTime } from '../../../../src/sources/stream/response-time.ts';
import { Census } from '../../../../src/sources/walk/census.ts';
import { InstrumentsCore } from '../../../../src/sources/walk/instruments-core.ts';
import type {
  CoreAnswer,
  CoreDecision,
  EventFacts,
  InstrumentsSettings,
} from '../../../../src/sources/walk/instruments-messages.ts';
import { firstOffset, type InstrumentsOffset } from '../../../../src/sources/walk/instruments-offset.ts';

const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const START_MS = Date.UTC(2026, 2, 1);
export const SETTINGS: InstrumentsSettings = {
  filter: 'scope=all',
  pollIntervalMs: 30_000,
  walkIntervalMs: DAY_MS,
  handoffMarginMs: 5_000,
  emptyCommitIntervalMs: 60_000,
  gapProofMs: 300_000,
  offsetHoldMs: DAY_MS,
  behindLimitMs: HOUR_MS,
  tombstones: true,
  maxShrink: 0.05,
  shrinkAlwaysAllowed: 20,
};
export const time = (ms: number) => responseTime(START_MS + ms, START_MS + ms);
export const row = (id: number) => ({ id: BigInt(id), digest: BigInt(id) });
export const event = (id: number): EventFacts => ({ ...row(id), deletes: false });

/** A core that is driven step by step; `ms` is the clock, and the provider's too. */
export function drive(
  changes: Partial<InstrumentsOffset> | null,
  settings: Partial<InstrumentsSettings> = {},
  reset: ResetOffset | null = null,
  topicId: string | null = null,
) {
  const committed =
    changes && ({ ...firstOffset(SETTINGS.filter, '5-5', time(0), null), walkPending: false, ...changes } as const);
  const core = new InstrumentsCore({ ...SETTINGS, ...settings }, committed, 0, reset, topicId);
  const self = {
    core,
    ms: 0,
    next: () => core.next(self.ms),
    take(decision: CoreDecision): CoreDecision {
      decision.committed();
      return decision;
    },
    answer: (answer: CoreAnswer) => self.take(core.answered(answer, self.ms)),
    /** Waits as it says, then takes what it decides by itself. */
    commit(): CoreDecision {
      const wanted = self.next();
      assert.ok(wanted.kind === 'commit', `${wanted.kind} where a commit was expected`);
      return self.take(wanted.decision);
    },
    stream(events: readonly EventFacts[] = [], next = core.offset?.since ?? '5-5', more: { nextId?: string } = {}) {
      assert.equal(self.next().kind, 'stream');
      const { nextId = next } = more;
      return self.answer({ kind: 'stream', events, next, nextId, time: time(self.ms) });
    },
    refused: () => self.answer({ kind: 'refused', status: 410, time: time(self.ms) }),
    page(minId: string | null, rows: readonly number[], next: string | null, start: string | null = null) {
      const wanted = self.next();
      assert.ok(
        wanted.kind === 'page' && wanted.minId === minId,
        `${JSON.stringify(wanted)} where a page was expected`,
      );
      return self.answer({ kind: 'page', walk: wanted.walk, minId, rows: rows.map(row), next, start });
    },
    /** From the census to the first page. */
    handOff(held: readonly number[] = []) {
      assert.equal(self.next().kind, 'census');
      const census = new Census();
      for (const id of held) census.put(BigInt(id), BigInt(id), true);
      self.handOffOver(census);
    },
    handOffOver(census: Census, marginMs = SETTINGS.handoffMarginMs) {
      self.answer({ kind: 'census', census });
      self.stream();
      self.ms += marginMs;
    },
    /** A walk over one page, up to the end of the list. */
    walkTo(rows: readonly number[], held: readonly number[]) {
      self.stream();
      self.handOff(held);
      self.page(null, rows, null);
      self.stream();
      self.commit();
    },
    /** The list asked again behind its end, and the final drain. */
    close(places: readonly string[]) {
      for (const minId of places) {
        assert.deepEqual(self.next(), { kind: 'behindLast', minId });
        self.answer({ kind: 'behindLast', rows: [], next: null });
      }
      self.stream();
    },
  };
  return self;
}

/** What a committed offset changes when a walk is to be finished. */
export const pending = { walkPending: true } as const;
