import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { LocalStack } from '../../src/dev/local-stack/stack-context.ts';
import { ALLOCATOR, NODE_FLAGS } from '../support/connectors/connector-process.ts';
import { benchEnvironment, freshPrefix, startProvider } from './bench-stack.ts';
import { processUsage } from './process-usage.ts';
import { round } from './rounding.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const INSTRUMENTS = 50;
const WAYS = {
  'npm start': { command: 'npm', args: ['start', '--silent'] },
  'the process alone': { command: process.execPath, args: [...NODE_FLAGS, 'src/bin/spconnect.js', 'run'] },
};

interface Start {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

/** Starts with the default settings and both roles, until the first poll is answered; topics and schemas are there. */
export async function* benchStarts(stack: LocalStack, starts: number): AsyncGenerator<object> {
  const provider = await startProvider(INSTRUMENTS);
  const env = benchEnvironment(stack, provider, {
    // npm needs a place for its log.
    HOME: process.env.HOME ?? tmpdir(),
    ...ALLOCATOR,
    TOPIC_PREFIX: freshPrefix(),
    MARKET_DATA_URL: provider.url,
    ADMIN_PORT: '0',
    LOG_LEVEL: 'debug',
    LOG_FORMAT: 'json',
  });
  try {
    // Creates topics and schemas, and what Node.js keeps of compiled code.
    await startOnce(WAYS['the process alone'], env);
    const ways = Object.entries(WAYS).map(([way, of]) => ({ way, of, measured: [] as Start[] }));
    // In turn: the broker answers faster from start to start.
    for (let done = 0; done < starts; done++) {
      for (const { of, measured } of ways) measured.push(await startOnce(of, env));
    }
    for (const { way, measured } of ways) {
      const seconds = measured.map((start) => start.seconds).sort((a, b) => a - b);
      const all = { starts, medianSeconds: middleOf(seconds), fastest: seconds[0], slowest: seconds.at(-1) };
      const cpuSeconds = middleOf(measured.map((start) => start.cpuSeconds).sort((a, b) => a - b));
      // Below npm, the process is another one.
      yield { way, ...all, ...(way !== 'npm start' && { cpuSeconds }) };
    }
  } finally {
    await provider.stop();
  }
}

async function startOnce(of: { readonly command: string; readonly args: readonly string[] }, env: NodeJS.ProcessEnv) {
  const startedMs = performance.now();
  // A group of its own: npm and what it starts are stopped together, as by Ctrl-C.
  const child = spawn(of.command, of.args, { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  let start: Start | undefined;
  for await (const line of createInterface({ input: child.stdout })) {
    if (start !== undefined || !line.includes('"msg":"poll answered"')) continue;
    const seconds = round((performance.now() - startedMs) / 1_000);
    start = { seconds, cpuSeconds: round(processUsage(child.pid ?? 0).cpuSeconds) };
    process.kill(-(child.pid ?? 0), 'SIGTERM');
  }
  await closed;
  if (start === undefined) throw new Error(`${of.command} ended with ${child.exitCode} before its first poll`);
  return start;
}

function middleOf(sorted: readonly number[]): number | undefined {
  return sorted[Math.floor(sorted.length / 2)];
}
