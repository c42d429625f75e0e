import { request } from 'undici';
import type { LocalStack } from '../../src/dev/local-stack/stack-context.ts';
import { freshPrefix, startBenchConnector, startProvider } from './bench-stack.ts';
import { measureFloors } from './floor-process.ts';
import { processUsage } from './process-usage.ts';
import { MIB, round } from './rounding.ts';

interface PageLine {
  readonly time: string;
  readonly fetchMs?: number;
  readonly commitMs?: number;
}

const PAGE_ROWS = 1_000;
const FETCHES = 21;

/** One walk by a fresh connector over a fresh provider. Idle is after the start, before the first page. */
export async function benchWalk(stack: LocalStack, instruments: number, delayMs: number) {
  const provider = await startProvider(instruments);
  try {
    await provider.order({ delayMs });
    const prefix = freshPrefix();
    const connector = startBenchConnector(stack, provider, { prefix });
    await connector.process.line('walk started');
    const idle = processUsage(connector.pid);
    await connector.loopDelayP99Ms();
    const completed = JSON.parse(await connector.process.line('walk completed')) as { rows: number };
    const busy = processUsage(connector.pid);
    const loopDelayP99Ms = await connector.loopDelayP99Ms();
    if (completed.rows !== instruments) throw new Error(`The walk had ${completed.rows} rows, not ${instruments}.`);
    const perSecond = instruments / secondsOf(connector.process.lines);
    await connector.stop();
    const pageMs = delayMs === 0 ? null : await fetchMs(`${provider.url}/v1/instruments?limit=${PAGE_ROWS}`);

    const floors = await measureFloors(stack, provider, 'walk');
    const cpuSecondsPer1000 = ((busy.cpuSeconds - idle.cpuSeconds) * 1_000) / instruments;
    return {
      instruments,
      delayMs,
      instrumentsPerSecond: Math.round(perSecond),
      ofLatencyPercent: delayMs === 0 ? null : percentOf(perSecond, delayMs),
      ofFetchPercent: pageMs === null ? null : percentOf(perSecond, pageMs),
      cpuSecondsPer1000: round(cpuSecondsPer1000),
      timesParse: round(cpuSecondsPer1000 / floors.parse),
      timesFloors: round(cpuSecondsPer1000 / (floors.fetch + floors.parse + floors.produce)),
      peakMemoryMiB: Math.round(busy.peakMemoryBytes / MIB),
      idleMemoryMiB: Math.round(idle.memoryBytes / MIB),
      loopDelayP99Ms,
      floors,
    };
  } finally {
    await provider.stop();
  }
}

/** How much of a page in so many milliseconds, one after the other, this rate is. */
function percentOf(perSecond: number, pageMs: number): number {
  return Math.round((perSecond * pageMs) / PAGE_ROWS / 10);
}

/** The median time of a page that is fetched and dropped. */
async function fetchMs(page: string): Promise<number> {
  const samples: number[] = [];
  for (let count = 0; count < FETCHES; count++) {
    const startedMs = performance.now();
    const { body } = await request(page);
    await body.dump({ limit: Number.MAX_SAFE_INTEGER });
    samples.push(performance.now() - startedMs);
  }
  return samples.toSorted((a, b) => a - b)[FETCHES >> 1] ?? Number.NaN;
}

function secondsOf(lines: readonly string[]): number {
  const pages = lines.filter((line) => line.includes('"page committed"')).map((line) => JSON.parse(line) as PageLine);
  const [first, last] = [pages[0], pages.at(-1)];
  if (!first || !last) throw new Error('No page was committed.');
  // A line leaves out what is zero.
  const startedMs = Date.parse(first.time) - (first.fetchMs ?? 0) - (first.commitMs ?? 0);
  return (Date.parse(last.time) - startedMs) / 1_000;
}
