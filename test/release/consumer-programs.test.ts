import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { testInstallation } from '../support/connectors/installation.ts';
import { eventually } from '../support/runner/eventually.ts';

const root = resolve(import.meta.dirname, '../..');

test('the program about gaps knows every notification of one', () => {
  const readme = readFileSync(join(root, 'schemas/README.md'), 'utf8');
  const rows = readme.split('\n').filter((line) => /^\| `[a-z-]+`.*: from when to when/.test(line));
  const gaps = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([a-z-]+)`/g)].map(([, kind]) => kind));
  const [, known = ''] = /LOST = \[(.*)\]/.exec(readFileSync(join(root, 'test/consumers/gaps.ts'), 'utf8')) ?? [];
  assert.deepEqual([...known.matchAll(/'([a-z-]+)'/g)].map(([, kind]) => kind).sort(), gaps.sort());
});

/** What a program prints, as it runs until the test ends. */
function start(t: TestContext, file: string, args: readonly string[]): () => string {
  const quietly = '--disable-warning=TimeoutNegativeWarning';
  const child: ChildProcess = spawn(process.execPath, [quietly, join(root, 'test/consumers', file), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => void child.kill('SIGKILL'));
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += String(chunk)));
  return () => text;
}

const SCENE = {
  simulator: { instruments: 30 },
  source: { deleteOnEventTypes: '[repayment]', behindLimit: '1s' },
  prices: '{ kinds: { overview: { enabled: true, refreshInterval: 2s } } }',
};

testInstallation('consumers see deletions, instruments without a price, and gaps', SCENE, async (t, at) => {
  const { stack, simulator, prefix } = at;
  const connector = await at.start();
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
    ));
  await eventually(`prices; printed: ${noPrice?.()}`, priced, (ids) => new Set(ids).size >= 2);
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
  assert.doesNotMatch(`${deletions?.()}${noPrice?.()}${gaps?.()}`, /Warning/);
  assert.deepEqual(await connector.stop(), []);
});
