import type { LocalStack } from '../../src/demo/stack-context.ts';
import { startBenchProcesses } from './bench-stack.ts';
import { processUsage } from './process-usage.ts';

const MIB = 1024 * 1024;

export interface WalkFigures {
  readonly instruments: number;
  /** From the first page's request to the last page's commit. */
  readonly seconds: number;
  readonly instrumentsPerSecond: number;
  readonly jsonMegabytesPerSecond: number;
  /** Of the connector's process, garbage collection and all threads included. */
  readonly cpuSecondsPer1000: number;
  readonly idleMemoryMiB: number;
  readonly peakMemoryMiB: number;
  readonly peakAboveIdleMiB: number;
}

interface PageLine {
  readonly time: string;
  readonly fetchMs: number;
  readonly commitMs: number;
  readonly jsonBytes: number;
}

/** One walk by a fresh connector over a fresh provider. Idle is after the start, before the first page. */
export async function benchWalk(stack: LocalStack, instruments: number): Promise<WalkFigures> {
  const processes = await startBenchProcesses(stack, instruments);
  try {
    const { connector } = processes;
    const pid = connector.child.pid ?? 0;
    await connector.line('walk started');
    const idle = processUsage(pid);
    const completed = JSON.parse(await connector.line('walk completed')) as { rows: number };
    const busy = processUsage(pid);
    if (completed.rows !== instruments) throw new Error(`The walk had ${completed.rows} rows, not ${instruments}.`);

    const pages = connector.lines
      .filter((line) => line.includes('"page committed"'))
      .map((line) => JSON.parse(line) as PageLine);
    const [first, last] = [pages[0], pages.at(-1)];
    if (!first || !last) throw new Error('No page was committed.');
    const startedMs = Date.parse(first.time) - first.fetchMs - first.commitMs;
    const seconds = (Date.parse(last.time) - startedMs) / 1_000;
    const jsonBytes = pages.reduce((sum, page) => sum + page.jsonBytes, 0);
    return {
      instruments,
      seconds: round(seconds),
      instrumentsPerSecond: Math.round(instruments / seconds),
      jsonMegabytesPerSecond: round(jsonBytes / 1e6 / seconds),
      cpuSecondsPer1000: round(((busy.cpuSeconds - idle.cpuSeconds) * 1_000) / instruments),
      idleMemoryMiB: Math.round(idle.memoryBytes / MIB),
      peakMemoryMiB: Math.round(busy.peakMemoryBytes / MIB),
      peakAboveIdleMiB: Math.round((busy.peakMemoryBytes - idle.memoryBytes) / MIB),
    };
  } finally {
    await processes.stop();
  }
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
