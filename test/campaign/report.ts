import { FAULT_NAMES, FAULTS } from './plan.ts';
import type { Struck } from './strike.ts';
import type { Finding, FindingKind } from './violation.ts';

/** One line of the table. */
export interface Row {
  readonly fault: string;
  readonly n: number;
  readonly lost: number;
  readonly twice: number;
  readonly outOfOrder: number;
  /** What is there and must not be. */
  readonly wrong: number;
  readonly stuck: number;
  readonly recoveryMs: { readonly p50: number; readonly p95: number; readonly max: number } | null;
}

export interface Totals {
  readonly kills: number;
  readonly brokerKills: number;
  /** How often a source began before an offset whose commit had been acknowledged. */
  readonly forgottenCommits: number;
  /** How often a broker has taken partitions without a leader for deleted, and skipped the markers of a transaction. */
  readonly skippedMarkers: number;
  readonly rebalances: number;
  /** Requests that were cut, dropped, delayed, refused or answered wrongly. */
  readonly requestsHit: number;
  readonly rounds: number;
  readonly minutes: number;
  /** What was verified at rest, over all connectors and their lives. */
  readonly verified: Verified;
}

export interface Verified {
  readonly connectors: number;
  readonly events: number;
  readonly instruments: number;
  readonly prices: number;
}

export interface Report {
  readonly command: string;
  readonly seed: number;
  readonly startedAt: string;
  /** Of the machine, at the start and at the end, over one minute. */
  readonly load: readonly number[];
  readonly totals: Totals;
  readonly rows: readonly Row[];
  readonly violation: { readonly connector: string; readonly findings: readonly Finding[] } | null;
}

/** The rows, in the order of the faults; what was found counts for the fault that came last before it was found. */
export function rowsOf(struck: readonly Struck[], found: ReadonlyMap<string, readonly Finding[]>): Row[] {
  const order = (fault: string) => FAULT_NAMES.findIndex((name) => fault.startsWith(FAULTS[name].says));
  const byRow = Map.groupBy(struck, ({ row }) => row);
  const faults = [...new Set([...byRow.keys(), ...found.keys()])].sort((a, b) => order(a) - order(b));
  return faults.map((fault) => {
    const all = byRow.get(fault) ?? [];
    const times = all.map(({ recoveryMs }) => recoveryMs).toSorted((a, b) => a - b);
    const findings = (kind: FindingKind) => (found.get(fault) ?? []).filter((finding) => finding.kind === kind).length;
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0;
    return {
      fault,
      n: all.reduce((sum, { count }) => sum + count, 0),
      lost: findings('lost'),
      twice: findings('twice'),
      outOfOrder: findings('out of order'),
      wrong: findings('wrong'),
      stuck: findings('stuck'),
      recoveryMs: times.length > 0 ? { p50: at(0.5), p95: at(0.95), max: at(1) } : null,
    };
  });
}

/** A table, as it can stand in a README. */
export function tableOf(rows: readonly Row[]): string {
  const seconds = (ms: number) => (ms / 1_000).toFixed(1);
  const lines = rows.map(({ fault, n, lost, twice, outOfOrder, wrong, stuck, recoveryMs }) => {
    const { p50, p95, max } = recoveryMs ?? { p50: 0, p95: 0, max: 0 };
    const times = recoveryMs === null ? '' : `${seconds(p50)} / ${seconds(p95)} / ${seconds(max)} s`;
    return `| ${fault} | ${n} | ${lost} | ${twice} | ${outOfOrder} | ${wrong} | ${stuck} | ${times} |`;
  });
  return [
    '| fault | N | lost | twice | out of order | wrong | stuck | recovery p50 / p95 / max |',
    '|---|---|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}
