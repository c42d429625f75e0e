import type { LocalStack } from '../../src/demo/stack-context.ts';
import { systemClock } from '../../src/support/clock.ts';
import {
  type ConnectorProcess,
  settingsText,
  startKillableConnector,
  startSimulatorProcess,
} from '../support/connector-process.ts';
import { processUsage } from './process-usage.ts';

const MIB = 1024 * 1024;
const PARTITIONS = 6;
const PATIENCE_MS = 300_000;
const LOOK_EVERY_MS = 50;
const REFRESHING_MS = 10_000;

export interface PriceFigures {
  readonly instruments: number;
  /** How long the provider takes for an answer, on top of writing it. */
  readonly delayMs: number;
  /** The first prices: instruments are read from the topic and priced; from the first request to the last commit. */
  readonly firstPerSecond: number;
  /** Of the processor's process from its start, garbage collection and all threads included. */
  readonly firstCpuSecondsPer1000: number;
  readonly firstPeakMiB: number;
  /** Refreshes as fast as they go, by a processor that has its table. */
  readonly refreshedPerSecond: number;
  readonly refreshCpuSecondsPer1000: number;
  readonly itemsPerCall: number;
  /** From the start of another process to the moment when it prices every partition, its table filled. */
  readonly restartSeconds: number;
  readonly memoryAfterRestartMiB: number;
  readonly peakAfterRestartMiB: number;
}

interface BatchLine {
  readonly time: string;
  readonly items: number;
  readonly calls: number;
  readonly inputs: number;
  readonly askMs: number;
  readonly commitMs: number;
}

/** Prices all instruments of a topic that is full, then starts the processor again. */
export async function benchPrices(stack: LocalStack, instruments: number, delayMs: number): Promise<PriceFigures> {
  const common = { PATH: process.env.PATH ?? '', NODE_OPTIONS: process.env.NODE_OPTIONS ?? '' };
  const simulator = startSimulatorProcess(instruments, common);
  const addresses = JSON.parse(await simulator.line('referenceDataUrl')) as Record<string, string>;
  const more = `
marketData: { url: "${addresses.marketDataUrl}", requestsPerSecond: 1000 }
prices: { kinds: { overview: { refreshInterval: "\${REFRESH:-1d}" } } }`;
  const env = {
    ...common,
    SETTINGS: settingsText({}, more),
    TOPIC_PREFIX: `bench-${process.pid}-${Math.round(systemClock.wallMs())}`,
    KAFKA_BROKERS: stack.brokers.join(','),
    SCHEMA_REGISTRY_URL: stack.registryUrl,
    REFERENCE_DATA_URL: addresses.referenceDataUrl ?? '',
    AUTH_TOKEN_URL: addresses.tokenUrl ?? '',
    CLIENT_ID: addresses.clientId ?? '',
    CLIENT_SECRET: addresses.clientSecret ?? '',
  };
  const started: ConnectorProcess[] = [];
  const start = (roles: string, more: Readonly<Record<string, string>> = {}) => {
    const connector = startKillableConnector('stay', { ...env, ...more, ROLES: roles });
    started.push(connector);
    return connector;
  };
  try {
    const sources = start('sources');
    await sources.line('walk completed');
    await stopped(sources);
    if (delayMs > 0) await injectDelay(new URL('/_simulator/faults', addresses.referenceDataUrl), delayMs);

    const first = start('processor');
    await until(() => batches(first).reduce((sum, { inputs }) => sum + inputs, 0) >= instruments);
    const usage = processUsage(first.child.pid ?? 0);
    const lines = batches(first);
    const startMs = Math.min(...lines.map(({ time, askMs, commitMs }) => Date.parse(time) - askMs - commitMs));
    const seconds = (Math.max(...lines.map(({ time }) => Date.parse(time))) - startMs) / 1_000;
    await stopped(first);

    const restartedMs = systemClock.monotonicMs();
    const second = start('processor');
    await until(() => second.lines.filter((line) => line.includes('"partition assigned"')).length >= PARTITIONS);
    const restartSeconds = (systemClock.monotonicMs() - restartedMs) / 1_000;
    const again = processUsage(second.child.pid ?? 0);
    await stopped(second);

    // Always due; the lines of refreshes are told at debug only.
    const third = start('processor', { REFRESH: '1s', LOG_LEVEL: 'debug' });
    await until(() => batches(third).length >= PARTITIONS);
    const [usedBefore, linesBefore] = [processUsage(third.child.pid ?? 0), batches(third).length];
    const beganMs = systemClock.monotonicMs();
    await systemClock.sleep(REFRESHING_MS);
    const refreshSeconds = (systemClock.monotonicMs() - beganMs) / 1_000;
    const refreshCpuSeconds = processUsage(third.child.pid ?? 0).cpuSeconds - usedBefore.cpuSeconds;
    const refreshes = batches(third).slice(linesBefore);
    const sum = (of: 'items' | 'calls') => refreshes.reduce((total, line) => total + line[of], 0);
    await stopped(third);
    return {
      instruments,
      delayMs,
      firstPerSecond: Math.round(instruments / seconds),
      firstCpuSecondsPer1000: round((usage.cpuSeconds * 1_000) / instruments),
      firstPeakMiB: Math.round(usage.peakMemoryBytes / MIB),
      refreshedPerSecond: Math.round(sum('items') / refreshSeconds),
      refreshCpuSecondsPer1000: round((refreshCpuSeconds * 1_000) / sum('items')),
      itemsPerCall: Math.round(sum('items') / sum('calls')),
      restartSeconds: round(restartSeconds),
      memoryAfterRestartMiB: Math.round(again.memoryBytes / MIB),
      peakAfterRestartMiB: Math.round(again.peakMemoryBytes / MIB),
    };
  } finally {
    for (const { child } of [...started, simulator]) if (child.exitCode === null) child.kill('SIGKILL');
    await Promise.all([...started, simulator].map(({ ended }) => ended));
  }
}

async function injectDelay(url: URL, ms: number): Promise<void> {
  const rule = { match: 'bulk', count: 0, fault: { kind: 'delay', ms } };
  await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(rule),
  });
}

/** The batches that answered records of instruments. */
function batches({ lines }: ConnectorProcess): BatchLine[] {
  return lines.filter((line) => line.includes('"batch priced"')).map((line) => JSON.parse(line) as BatchLine);
}

async function stopped({ child, ended }: ConnectorProcess): Promise<void> {
  child.kill('SIGTERM');
  await ended;
}

async function until(holds: () => boolean): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + PATIENCE_MS;
  while (!holds()) {
    if (systemClock.monotonicMs() > deadlineMs) throw new Error(`It took longer than ${PATIENCE_MS} ms.`);
    await systemClock.sleep(LOOK_EVERY_MS);
  }
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
