import type { ProcessorModules } from './processor-world.ts';

const INSTRUMENTS = 2_000;
const REFRESH_MS = 60_000;
const STEP_MS = 500;

/**
 * Starts a core over a full table, as after a restart, and lets the provider answer at once: nothing of it is urgent, so
 * the calls must be spread over the interval, and each instrument must come once in it.
 */
export function startViolations({ PartitionCore, ToldFailures }: ProcessorModules, startMs: number): string[] {
  const instruments = Array.from({ length: INSTRUMENTS }, (_, id) => [String(id * 7), `isin-${id}`] as const);
  const settings = {
    kinds: [{ kind: 'overview' as const, refreshIntervalMs: REFRESH_MS }],
    lingerMs: 250,
    maxItems: () => 500,
    maxBackoffMs: 3_600_000,
    epochMs: 1_000_000_000_000.4,
    random: () => 0.5,
    told: new ToldFailures(),
  };
  const core = new PartitionCore(settings, { offset: 10n, instruments }, startMs);
  const asked = new Map<string, number>();
  let most = 0;
  for (let nowMs = startMs; nowMs <= startMs + REFRESH_MS; nowMs += STEP_MS) {
    let now = 0;
    for (let step = core.next(nowMs); step.kind !== 'wait'; step = core.next(nowMs)) {
      if (step.kind === 'commit') core.committed(step.transaction, nowMs);
      else {
        const { questions } = step.batch;
        now += questions.length;
        for (const { id } of questions) asked.set(id, (asked.get(id) ?? 0) + 1);
        const outcomes = questions.map(() => ({ kind: 'prices' as const, records: [], isQuotingPulled: null }));
        core.answered(step.batch, { outcomes, calls: 1, askMs: 0, drift: 0, roundedNumbers: 0, errorsFlagDiffers: 0 });
      }
    }
    most = Math.max(most, now);
  }
  const violations: string[] = [];
  // Those of the next two seconds come together: 67 on average.
  if (most > 150) violations.push(`${most} instruments were asked for at once`);
  if (asked.size < INSTRUMENTS) violations.push(`${INSTRUMENTS - asked.size} were not asked for within the interval`);
  const twice = [...asked.values()].filter((times) => times > 1).length;
  // Those whose slot comes early in the interval come early in the next one too.
  if (twice > INSTRUMENTS / 20) violations.push(`${twice} were asked for twice within the interval`);
  return violations;
}
