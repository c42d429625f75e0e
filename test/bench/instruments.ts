import { parseArgs } from 'node:util';
import { startLocalStack } from '../../src/demo/local-stack.ts';
import type { LocalStack } from '../../src/demo/stack-context.ts';
import { systemClock } from '../../src/support/clock.ts';
import { settingsText, startKillableConnector, startProcess } from '../support/connector-process.ts';
import { processUsage } from './process-usage.ts';

/*
 * Walks instruments from the simulated provider into a real Kafka, each in a process of its own, and tells what the
 * connector's process used. Everything runs on this machine and shares its cores.
 */
const MIB = 1024 * 1024;
const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;

interface Figures {
  readonly instruments: number;
  readonly seconds: number;
  readonly instrumentsPerSecond: number;
  readonly jsonMegabytesPerSecond: number;
  readonly cpuSecondsPer1000: number;
  readonly idleMemoryMiB: number;
  readonly peakMemoryMiB: number;
  readonly peakAboveIdleMiB: number;
}

const { values } = parseArgs({
  options: {
    instruments: { type: 'string', default: '50000' },
    json: { type: 'boolean', default: false },
  },
});
const sizes = values.instruments.split(',').map(Number);
const stop = new AbortController();
process.once('SIGINT', () => stop.abort(new Error('stopped by SIGINT')));

const stack = await startLocalStack({
  env: process.env,
  clock: systemClock,
  signal: stop.signal,
  onProgress: (line) => process.stderr.write(`${line}\n`),
});
try {
  const figures: Figures[] = [];
  for (const size of sizes) figures.push(await measure(stack, size));
  if (!values.json) console.table(figures);
  console.log(JSON.stringify({ node: process.version, date: new Date().toISOString(), figures }));
} finally {
  await stack.stop();
}

/** One walk by a fresh connector over a fresh provider. */
async function measure({ brokers, registryUrl }: LocalStack, instruments: number): Promise<Figures> {
  const simulator = startProcess(MAIN, ['simulate', '--port', '0', '--instruments', String(instruments)], {
    PATH: process.env.PATH ?? '',
  });
  try {
    const addresses = JSON.parse(await simulator.line('referenceDataUrl')) as Record<string, string>;
    const env = {
      PATH: process.env.PATH ?? '',
      NODE_OPTIONS: process.env.NODE_OPTIONS ?? '',
      SETTINGS: settingsText({ limit: 1000 }),
      TOPIC_PREFIX: `bench-${process.pid}-${instruments}-${Math.round(systemClock.wallMs())}`,
      KAFKA_BROKERS: brokers.join(','),
      SCHEMA_REGISTRY_URL: registryUrl,
      REFERENCE_DATA_URL: addresses.referenceDataUrl ?? '',
      AUTH_TOKEN_URL: addresses.tokenUrl ?? '',
      CLIENT_ID: addresses.clientId ?? '',
      CLIENT_SECRET: addresses.clientSecret ?? '',
    };
    const connector = startKillableConnector('stay', env);
    const pid = connector.child.pid ?? 0;
    const started = JSON.parse(await connector.line('walk started')) as { time: string };
    const idle = processUsage(pid);
    const completed = JSON.parse(await connector.line('walk completed')) as { time: string; rows: number };
    const busy = processUsage(pid);
    connector.child.kill('SIGTERM');
    const { code } = await connector.ended;
    if (code !== 0) throw new Error(`The connector ended with ${code}:\n${connector.lines.slice(-20).join('\n')}`);
    if (completed.rows !== instruments) throw new Error(`The walk had ${completed.rows} rows, not ${instruments}.`);

    const seconds = (Date.parse(completed.time) - Date.parse(started.time)) / 1_000;
    const pages = connector.lines.filter((line) => line.includes('"page committed"'));
    const jsonBytes = pages.reduce((sum, line) => sum + (JSON.parse(line) as { jsonBytes: number }).jsonBytes, 0);
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
    simulator.child.kill('SIGTERM');
    await simulator.ended;
  }
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
