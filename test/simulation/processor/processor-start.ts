import { answerAll, coreSettings, proceed } from '../../support/priced-core.ts';
import type { ProcessorModules } from './processor-world.ts';

const INSTRUMENTS = 2_000;
const MAX_ITEMS = 500;
const REFRESH_MS = 60_000;
const STEP_MS = 500;
/** Until a price is committed. */
const ANSWER_MS = 1_000;

/** Asks of a core over a full table, as after a restart, for some time; the provider answers after a moment. */
export function refreshesAfterStart(
  { PartitionCore, ReportedFailures }: ProcessorModules,
  { startMs, forMs, instruments = INSTRUMENTS }: { startMs: number; forMs: number; instruments?: number },
): { readonly atMs: number; readonly ids: readonly string[] }[] {
  const table = Array.from({ length: instruments }, (_, id) => [String(id * 7), `isin-${id}`] as const);
  const settings = coreSettings({
    kinds: [{ kind: 'overview', refreshIntervalMs: REFRESH_MS }],
    lingerMs: 250,
    maxItems: () => MAX_ITEMS,
    wallMs: () => 1_000_000_000_000.4,
    reported: new ReportedFailures(),
  });
  const core = new PartitionCore(settings, { offset: 10n, instruments: table, phase: 0.3 }, startMs);
  const calls: { atMs: number; ids: readonly string[] }[] = [];
  const answers: { atMs: number; give: () => void }[] = [];
  for (let nowMs = startMs; nowMs < startMs + forMs; nowMs += STEP_MS) {
    while ((answers[0]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs) answers.shift()?.give();
    proceed(core, nowMs, (batch) => {
      calls.push({ atMs: nowMs, ids: batch.questions.map(({ id }) => id) });
      answers.push({ atMs: nowMs + ANSWER_MS, give: () => answerAll(core, batch) });
    });
  }
  return calls;
}

/** Nothing of a full table is urgent: each instrument comes once in an interval, in as few calls as can be, spread over it. */
export function startViolations(modules: ProcessorModules, startMs: number): string[] {
  const violations: string[] = [];
  const intervals = 3;
  const calls = refreshesAfterStart(modules, { startMs, forMs: REFRESH_MS * intervals });
  const asked = new Map<string, number[]>();
  for (const { atMs, ids } of calls) for (const id of ids) asked.set(id, [...(asked.get(id) ?? []), atMs]);
  const most = (INSTRUMENTS / MAX_ITEMS) * intervals;
  if (calls.length > most) violations.push(`${calls.length} calls, where ${most} would do`);
  if (calls[1] && calls[1].atMs - (calls[0]?.atMs ?? 0) < REFRESH_MS / 5) violations.push('calls come together');
  if (asked.size < INSTRUMENTS) violations.push(`${INSTRUMENTS - asked.size} were never asked for`);
  for (const [id, times] of asked) {
    const gaps = times.slice(1).map((ms, at) => ms - (times[at] ?? 0));
    const first = (times[0] ?? 0) - startMs;
    if (first > REFRESH_MS || gaps.some((ms) => ms > REFRESH_MS + 2 * STEP_MS)) violations.push(`${id} comes too late`);
    if (gaps.some((ms) => ms < REFRESH_MS - 2 * STEP_MS)) violations.push(`${id} comes twice within an interval`);
    if (violations.length > 3) break;
  }
  return violations;
}
