import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSimulator } from '../../src/dev/simulator/simulator.ts';
import { startConnector } from '../support/connectors/running-connector.ts';
import { stackOrSkip, uniquePrefix } from '../support/kafka/stack.ts';
import { eventually } from '../support/runner/eventually.ts';

const root = resolve(import.meta.dirname, '../..');
const PATIENCE_MS = 300_000;

test('the program about gaps knows every notification of one', () => {
  const readme = readFileSync(join(root, 'schemas/README.md'), 'utf8');
  const rows = readme.split('\n').filter((line) => /^\| `[a-z-]+`.*: from when to when/.test(line));
  const gaps = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([a-z-]+)`/g)].map(([, kind]) => kind));
  const [, known = ''] = /LOST = \[(.*)\]/.exec(readFileSync(join(root, 'test/consumers/gaps.ts'), 'utf8')) ?? [];
  assert.deepEqual([...known.matchAll(/'([a-z-]+)'/g)].map(([, kind]) => kind).sort(), gaps.sort());
});

/** What a program prints, as it runs until the test ends. */
function start(t: TestContext, file: string, args: readonly string[]): () => string {
  const child: ChildProcess = spawn(process.execPath, [join(root, 'test/consumers', file), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => void child.kill('SIGKILL'));
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += String(chunk)));
  return () => text;
}

test('consumers see deletions, instruments without a price, and gaps', { timeout: 1_200_000 }, async (t) => {
  const stack = await stackOrSkip(t);
  if (!stack) return;
  const simulator = await createSimulator({ instruments: 30, seed: 5, port: 0 });
  t.after(() => simulator.close());
  const prefix = uniquePrefix('consumers');
  const source = { deleteOnEventTypes: '[repayment]', behindLimit: '1s' };
  const more = `
marketData: { url: "${simulator.marketDataUrl}", requestsPerSecond: 1000 }
prices: { kinds: { overview: { enabled: true, refreshInterval: 2s } } }`;
  const connector = await startConnector(t, { stack, simulator, prefix, source, more });
  await connector.event('walkCompleted');
  await connector.event('batchPriced');
  const where = [stack.brokers.join(','), stack.registryUrl, prefix];
  const [deletions, noPrice, gaps] = ['deletions.ts', 'no-price.ts', 'gaps.ts'].map((file) => start(t, file, where));

  const priced = () => [...(noPrice?.() ?? '').matchAll(/^(\d+) costs \d+(?:\.\d+)?, gives \d/gm)].map(([, id]) => id);
  const seen = async (what: string, text: (() => string) | undefined, pattern: RegExp) =>
    void (await eventually(
      `${what}; printed: ${text?.()}`,
      () => text?.() ?? '',
      (all) => pattern.test(all),
      PATIENCE_MS,
    ));
  await eventually(`prices; printed: ${noPrice?.()}`, priced, (ids) => new Set(ids).size >= 2, PATIENCE_MS);
  const [repaid = '', other = ''] = new Set(priced());
  simulator.publish({ kind: 'repayment', id: repaid });
  await seen('the deletion', deletions, new RegExp(`^${repaid} is gone: repayment$`, 'm'));
  await seen('its price', noPrice, new RegExp(`^${repaid} has no price: gone$`, 'm'));
  simulator.publish({
    kind: 'replace',
    id: other,
    instrument: `{"id":${other},"name":"without isin"}`,
    type: 'datachange',
  });
  await seen('the missing price', noPrice, new RegExp(`^${other} has no price: no-isin$`, 'm'));
  simulator.resetStream('1000-0');
  await seen('the gap', gaps, /^\S+: events come again: /m);
  assert.deepEqual(await connector.stop(), []);
});
