import { spawn } from 'node:child_process';
import type { LocalStack } from '../../src/dev/local-stack/stack-context.ts';
import { watchProcess } from '../support/connectors/connector-process.ts';
import type { ReadyProvider } from './bench-stack.ts';

const FLOORS = new URL('./floors.ts', import.meta.url).pathname;

/** That of 1,000 prices is some milliseconds. */
const shown = (seconds: number) => Math.round(seconds * 100_000) / 100_000;

/** CPU-seconds per 1,000. */
interface Floors {
  readonly fetch: number;
  readonly parse: number;
  readonly produce: number;
}

/** What fetching, `JSON.parse` and producing cost for this work, each alone, with Node's default flags. */
export async function measureFloors(
  stack: LocalStack,
  provider: ReadyProvider,
  work: 'walk' | 'events' | 'prices',
): Promise<Floors> {
  await provider.order({ delayMs: 0 });
  const args = [FLOORS, provider.url, stack.brokers.join(','), work];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const watched = watchProcess(child);
  const found = JSON.parse(await watched.line('"produce"')) as Floors;
  await watched.ended;
  return { fetch: shown(found.fetch), parse: shown(found.parse), produce: shown(found.produce) };
}
