import { spawn } from 'node:child_process';
import type { LocalStack } from '../../src/local-stack/stack-context.ts';
import { watchProcess } from '../support/connectors/connector-process.ts';
import type { ReadyProvider } from './bench-stack.ts';
import { round } from './rounding.ts';

const FLOORS = new URL('./floors.ts', import.meta.url).pathname;

/** CPU-seconds per 1,000 instruments of fetching, of `JSON.parse` and of producing, each alone, with Node's default flags. */
export async function measureFloors(stack: LocalStack, provider: ReadyProvider) {
  await provider.order({ delayMs: 0 });
  const args = [FLOORS, provider.url, stack.brokers.join(',')];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const watched = watchProcess(child);
  const found = JSON.parse(await watched.line('"produce"')) as { fetch: number; parse: number; produce: number };
  await watched.ended;
  return { fetch: round(found.fetch), parse: round(found.parse), produce: round(found.produce) };
}
