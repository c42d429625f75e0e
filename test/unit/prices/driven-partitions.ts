import { ConnectorError } from '../../../src/errors.ts';
import { partitionFor } from '../../../src/kafka/record.ts';
import type { PriceKind, PriceQuestion } from '../../../src/prices/bulk-prices.ts';
import { planOf } from '../../../src/prices/core/instrument.ts';
import { PartitionCore } from '../../../src/prices/core/partition-core.ts';
import { createEndpointGates } from '../../../src/provider/http/endpoint-gates.ts';
import { type InstrumentTerms, NO_TERMS } from '../../../src/records/avro/instrument-terms.ts';
import { Pulse } from '../../../src/support/pulse.ts';
import { coreSettings } from '../../support/priced-core.ts';
import { SteppedClock } from '../kafka/stepped-clock.ts';
import { calling } from './bulk-calling.ts';

export const REFRESH_MS = 60_000;
const OVERDUE_MS = REFRESH_MS * 1.5;
const ANSWER_MS = 200;
const COMMIT_MS = 20;
export const LINGER_MS = 250;
const TOGETHER_MS = 50;
const GOLDEN_RATIO = 0.618;
/** As a day of repayment. */
const LONG_AGO = 0;

/** Partitions as the processor drives them, over their full tables, without Kafka: commits take a moment and succeed. */
export function drivePartitions(options: {
  readonly instruments: number;
  readonly partitions: number;
  readonly maxItems?: number;
  readonly kinds?: readonly PriceKind[];
  /** How long the answer takes; 200 ms by default. */
  readonly takesMs?: (asked: readonly PriceQuestion[], kind: PriceKind) => number;
  readonly refuse?: (asked: readonly PriceQuestion[], kind: PriceKind) => ConnectorError | null;
  /** So many more were repaid long ago, and are there from the start; their ids begin with `repaid-`. */
  readonly repaid?: number;
  /** The wall clock at the start. */
  readonly epochMs?: number;
}) {
  const { instruments, partitions, maxItems = 500, kinds = ['overview'] } = options;
  const clock = new SteppedClock();
  const calls: { atMs: number; kind: PriceKind; ids: readonly string[] }[] = [];
  const transactions: { atMs: number; results: number }[] = [];
  const ignore = () => {};
  const random = () => 0.5;
  const gates = createEndpointGates({ clock, random });
  const { caller } = calling({
    clock,
    maxItems,
    togetherMs: TOGETHER_MS,
    heldBack() {
      const held = gates.heldBack('bulk');
      if (held === null) return null;
      const { remainingMs: retryAfterMs, status: heldBackBy } = held;
      return new ConnectorError('PROVIDER_BUSY', 'it is not sent', { retryAfterMs, fields: { heldBackBy } });
    },
    takesMs(asked, kind) {
      calls.push({ atMs: clock.monotonicMs(), kind, ids: asked.map(({ instrumentId }) => instrumentId) });
      return options.takesMs?.(asked, kind) ?? ANSWER_MS;
    },
    refuse(asked, _, kind) {
      const error = options.refuse?.(asked, kind) ?? null;
      const { status = 0 } = error?.fields ?? {};
      if (error !== null) gates.refused('bulk', { status: Number(status), retryAfterMs: error.retryAfterMs });
      return error;
    },
  });
  const settings = coreSettings({
    kinds: kinds.map((kind) => ({ kind, refreshIntervalMs: REFRESH_MS })),
    lingerMs: LINGER_MS - TOGETHER_MS,
    maxItems: (kind) => caller.maxItems(kind),
    wallMs: () => options.epochMs ?? 1_700_000_000_000,
  });
  const tables = Array.from({ length: partitions }, () => new Map<string, string>());
  const repaid = Array.from({ length: partitions }, (): [string, string, InstrumentTerms][] => []);
  const partitionOf = (id: string) => partitionFor(Buffer.from(id, 'utf8'), partitions);
  for (let at = 0; at < instruments; at++) {
    const id = String(1_000 + at * 7);
    tables[partitionOf(id)]?.set(id, isinOf(id));
  }
  for (let at = 0; at < (options.repaid ?? 0); at++) {
    const id = `repaid-${at}`;
    repaid[partitionOf(id)]?.push([id, isinOf(id), { ...NO_TERMS, repaymentDay: LONG_AGO }]);
  }
  const stopping = new AbortController();
  const driven = tables.map((table, partition) => {
    const instruments = [...table, ...(repaid[partition] ?? [])];
    const start = { offset: 0n, instruments, phase: (partition * GOLDEN_RATIO) % 1 };
    const core = new PartitionCore(settings, start, clock.monotonicMs());
    const moved = new Pulse();
    return { core, moved, ended: drive(core, moved) };
  });

  async function drive(core: PartitionCore, moved: Pulse): Promise<void> {
    const { signal } = stopping;
    while (!signal.aborted) {
      const step = core.next(clock.monotonicMs());
      if (step.kind === 'ask') {
        const { kind, questions } = step.batch;
        const asked = questions.map(({ id, isin }) => ({ instrumentId: id, isin }));
        const ended = caller.ask(
          { kind, questions: asked, isWanted: (at) => core.isWanted(step.batch, at) },
          (positions, outcomes) => {
            core.answered(step.batch, positions, outcomes);
            moved.notify();
          },
          signal,
        );
        ended.catch(ignore);
      }
      if (step.kind === 'commit') {
        await clock.sleep(COMMIT_MS, signal);
        const results = step.transaction.parts.reduce((sum, part) => sum + part.results.length, 0);
        transactions.push({ atMs: clock.monotonicMs(), results });
        core.committed(step.transaction, clock.monotonicMs());
      }
      if (step.kind === 'wait') await moved.within(step.ms, clock, signal);
    }
  }

  const plans = (kind: PriceKind) =>
    driven.flatMap(({ core: { instruments } }) =>
      [...instruments.rows()].map((row) => ({ id: instruments.at(row).id, plan: planOf(instruments.at(row), kind) })),
    );
  const ageMs = ({ plan }: { readonly plan: ReturnType<typeof planOf> }) => clock.monotonicMs() - plan.sinceMs;
  return {
    clock,
    calls,
    transactions,
    /** Ids whose snapshot of a kind, or arrival without one, is older than one and a half intervals. */
    overdue: (kind: PriceKind) => plans(kind).flatMap((one) => (ageMs(one) > OVERDUE_MS ? one.id : [])),
    /** Ages of all snapshots of a kind, ascending. */
    ages: (kind: PriceKind) =>
      plans(kind)
        .map(ageMs)
        .sort((a, b) => a - b),
    /** An instrument is new, or has changed. */
    read(id: string, isin: string) {
      const one = driven[partitionOf(id)];
      one?.core.read(one.core.position, id, { kind: 'live', isin, terms: NO_TERMS }, clock.monotonicMs());
      one?.moved.notify();
    },
    isPriced: (kind: PriceKind, wanted: string) => plans(kind).some(({ id, plan }) => id === wanted && plan.isPriced),
    async stop() {
      stopping.abort(new Error('the test is over'));
      await Promise.allSettled(driven.map(({ ended }) => ended));
    },
  };
}

export function isinOf(id: string): string {
  return `isin-${id}`;
}
