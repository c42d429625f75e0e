import { FAULT_NAMES, FAULTS } from './plan.ts';
import type { runCampaign } from './run.ts';
import type { Struck } from './strike.ts';
import { FINDING_KINDS, type Finding, type FindingKind } from './violation.ts';

export type Report = Awaited<ReturnType<typeof runCampaign>>;

/** The rows, in the order of the faults; what was found counts for the fault that came last before it was found. */
export function rowsOf(struck: readonly Struck[], found: ReadonlyMap<string, readonly Finding[]>) {
  const order = (fault: string) => FAULT_NAMES.findIndex((name) => fault.startsWith(FAULTS[name].says));
  const byRow = Map.groupBy(struck, ({ row }) => row);
  const faults = [...new Set([...byRow.keys(), ...found.keys()])].sort((a, b) => order(a) - order(b));
  return faults.map((fault) => {
    const all = byRow.get(fault) ?? [];
    const times = all.map(({ recoveryMs }) => recoveryMs).toSorted((a, b) => a - b);
    const count = (kind: FindingKind) => (found.get(fault) ?? []).filter((finding) => finding.kind === kind).length;
    const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))] ?? 0;
    return {
      fault,
      n: all.reduce((sum, { count }) => sum + count, 0),
      findings: FINDING_KINDS.map(count),
      recoveryMs: times.length > 0 ? { p50: at(0.5), p95: at(0.95), max: at(1) } : null,
    };
  });
}

/** A table, as it can stand in a README. */
export function tableOf(rows: ReturnType<typeof rowsOf>): string {
  const seconds = (ms: number) => (ms / 1_000).toFixed(1);
  const lines = rows.map(({ fault, n, findings, recoveryMs }) => {
    const times = recoveryMs === null ? '' : `${Object.values(recoveryMs).map(seconds).join(' / ')} s`;
    return `| ${fault} | ${n} | ${findings.join(' | ')} | ${times} |`;
  });
  return [
    `| fault | N | ${FINDING_KINDS.join(' | ')} | recovery p50 / p95 / max |`,
    '|---|---|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}
