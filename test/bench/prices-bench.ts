import type { LocalStack } from '../../src/dev/local-stack/stack-context.ts';
import { systemClock } from '../../src/support/clock.ts';
import {
  type BenchConnector,
  freshPrefix,
  type ReadyProvider,
  startBenchConnector,
  startProvider,
} from './bench-stack.ts';
import { measureFloors } from './floor-process.ts';
import { processUsage } from './process-usage.ts';
import { MIB, round } from './rounding.ts';

/**
 * A process works before its join is answered, which the broker puts off for 3 s by default. One that is killed within that
 * time is missed by the group for longer: its session begins with the answer.
 */
const SETTLED_MS = 5_000;
const PARTITIONS = 6;
const PATIENCE_MS = 600_000;
const LOOK_EVERY_MS = 50;
const REFRESHING_MS = 10_000;
/** Intervals of steady operation until it is measured. */
const STEADY_AFTER = 5;

/** A topic of instruments, and connectors that price it. */
async function withInstruments<Figures>(
  stack: LocalStack,
  instruments: number,
  measure: (parts: {
    provider: ReadyProvider;
    processor: (refresh: string) => BenchConnector;
    sources: () => BenchConnector;
  }) => Promise<Figures>,
): Promise<Figures> {
  const provider = await startProvider(instruments);
  const prefix = freshPrefix();
  const started: BenchConnector[] = [];
  const start = (roles: string, refresh = '1d') => {
    const more = `
marketData: { url: "${provider.url}", requestsPerSecond: 1000 }
prices: { kinds: { overview: { refreshInterval: ${refresh} } } }`;
    const connector = startBenchConnector(stack, provider, { prefix, roles, more });
    started.push(connector);
    return connector;
  };
  try {
    const walk = start('sources');
    await walk.process.line('walk completed');
    await walk.stop();
    return await measure({
      provider,
      processor: (refresh) => start('processor', refresh),
      sources: () => start('sources'),
    });
  } finally {
    for (const { kill, process } of started) if (process.child.exitCode === null) await kill();
    await provider.stop();
  }
}

export function benchPrices(stack: LocalStack, instruments: number, delayMs: number) {
  return withInstruments(stack, instruments, async ({ provider, processor }) => {
    await provider.order({ delayMs });
    const first = processor('1d');
    await until(async () => (await counts(provider)).items > 0);
    const beganMs = systemClock.monotonicMs();
    await until(async () => (await counts(provider)).items >= instruments);
    const seconds = (systemClock.monotonicMs() - beganMs) / 1_000;
    const usage = processUsage(first.pid);
    await first.stop();

    // Always more than is done.
    const second = processor('1s');
    const before = await counts(provider);
    await until(async () => (await counts(provider)).items > before.items + PARTITIONS * 500);
    await second.loopDelayP99Ms();
    const [from, cpuFrom, fromMs] = [
      await counts(provider),
      processUsage(second.pid).cpuSeconds,
      systemClock.monotonicMs(),
    ];
    await systemClock.sleep(REFRESHING_MS);
    const [to, used, toMs] = [await counts(provider), processUsage(second.pid), systemClock.monotonicMs()];
    const loopDelayP99Ms = await second.loopDelayP99Ms();
    await second.stop();
    const items = to.items - from.items;
    const floors = await measureFloors(stack, provider, 'prices');
    const refreshCpuSecondsPer1000 = round(((used.cpuSeconds - cpuFrom) * 1_000) / items);
    return {
      instruments,
      delayMs,
      firstPerSecond: Math.round(instruments / seconds),
      firstCpuSecondsPer1000: round((usage.cpuSeconds * 1_000) / instruments),
      firstPeakMiB: Math.round(usage.peakMemoryBytes / MIB),
      refreshedPerSecond: Math.round((items * 1_000) / (toMs - fromMs)),
      refreshCpuSecondsPer1000,
      itemsPerCall: Math.round(items / (to.calls - from.calls)),
      refreshPeakMiB: Math.round(used.peakMemoryBytes / MIB),
      loopDelayP99Ms,
      timesParse: round(refreshCpuSecondsPer1000 / floors.parse),
      floors,
    };
  });
}

export function benchRestart(stack: LocalStack, instruments: number) {
  return withInstruments(stack, instruments, async ({ provider, processor, sources }) => {
    // Only what is answered stands in the table of the next one.
    const earlier = processor('1d');
    await until(async () => (await counts(provider)).items >= instruments);
    await earlier.stop();
    const startedMs = systemClock.monotonicMs();
    const restarted = processor('1d');
    await until(async () => assignedBy(restarted).length >= PARTITIONS);
    const processorSeconds = (systemClock.monotonicMs() - startedMs) / 1_000;
    const { peakMemoryBytes, cpuSeconds } = processUsage(restarted.pid);
    const tabled = assignedBy(restarted).reduce(
      (sum, line) => sum + (JSON.parse(line) as { instruments: number }).instruments,
      0,
    );
    await systemClock.sleep(SETTLED_MS);
    await restarted.kill();
    const recovery = await secondsUntil(
      () => processor('1d'),
      (recovered) => until(async () => assignedBy(recovered).length >= PARTITIONS),
    );
    return {
      instruments,
      processorSeconds: round(processorSeconds),
      processorRecoverySeconds: recovery,
      processorPeakMiB: Math.round(peakMemoryBytes / MIB),
      processorCpuSeconds: round(cpuSeconds),
      tabled,
      sourcesSeconds: await secondsUntil(sources, untilStarted),
      sourcesRecoverySeconds: await secondsUntil(sources, untilStarted),
    };
  });
}

async function untilStarted({ process }: BenchConnector): Promise<void> {
  await process.line('source started');
}

/** From the start of a process, which is killed then. */
async function secondsUntil(
  start: () => BenchConnector,
  works: (connector: BenchConnector) => Promise<void>,
): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  const connector = start();
  await works(connector);
  const seconds = round((systemClock.monotonicMs() - startedMs) / 1_000);
  await systemClock.sleep(SETTLED_MS);
  await connector.kill();
  return seconds;
}

function assignedBy({ process }: BenchConnector): readonly string[] {
  return process.lines.filter((line) => line.includes('"partition assigned"'));
}

/** Steady operation: nothing changes, and each instrument is refreshed once in an interval. */
export function benchSteady(stack: LocalStack, instruments: number, refreshSeconds: number) {
  return withInstruments(stack, instruments, async ({ provider, processor }) => {
    const running = processor(`${refreshSeconds}s`);
    await until(async () => (await counts(provider)).items >= instruments);
    const interval = async () => {
      const [from, cpuFrom] = [await counts(provider), processUsage(running.pid).cpuSeconds];
      await systemClock.sleep(refreshSeconds * 1_000);
      const [to, cpuTo] = [await counts(provider), processUsage(running.pid).cpuSeconds];
      const items = to.items - from.items;
      return { calls: to.calls - from.calls, items, cpuSecondsPer1000: round(((cpuTo - cpuFrom) * 1_000) / items) };
    };
    // The first interval still carries the first prices; in the next ones, Node compiles what few calls have run yet.
    await interval();
    const second = await interval();
    for (let intervals = 3; intervals < STEADY_AFTER; intervals++) await interval();
    const { calls, items, cpuSecondsPer1000 } = await interval();
    const { peakMemoryBytes } = processUsage(running.pid);
    await running.loopDelayP99Ms();
    await interval();
    const loopDelayP99Ms = await running.loopDelayP99Ms();
    await running.stop();
    return {
      instruments,
      refreshSeconds,
      callsPerMinute: round((calls * 60) / refreshSeconds),
      itemsPerCall: Math.round(items / calls),
      secondCpuSecondsPer1000: second.cpuSecondsPer1000,
      cpuSecondsPer1000,
      peakMemoryMiB: Math.round(peakMemoryBytes / MIB),
      loopDelayP99Ms,
    };
  });
}

async function counts(provider: ReadyProvider): Promise<{ readonly calls: number; readonly items: number }> {
  const { bulkCalls = 0, bulkItems = 0 } = await provider.order({});
  return { calls: bulkCalls, items: bulkItems };
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + PATIENCE_MS;
  while (!(await holds())) {
    if (systemClock.monotonicMs() > deadlineMs) throw new Error(`It took longer than ${PATIENCE_MS} ms.`);
    await systemClock.sleep(LOOK_EVERY_MS);
  }
}
