import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { startProcess } from '../support/connectors/connector-process.ts';
import { stackOrSkip } from '../support/kafka/stack.ts';
import { temporaryFolder } from '../support/runner/temporary-folder.ts';

const BENCH = resolve(import.meta.dirname, './bench.ts');
const LEFT_OUT = ['events', 'backlog', 'prices', 'steady', 'restart', 'decoding'].flatMap((part) => [`--${part}`, '0']);

test('the benchmark measures a walk beside its floors, and a start, writes JSON, and shows ratios to an earlier run', async (t) => {
  const stack = await stackOrSkip(t);
  if (!stack) return;
  const folder = temporaryFolder(t);
  const [file, earlier] = [join(folder, 'figures.json'), join(folder, 'earlier.json')];
  await writeFile(earlier, JSON.stringify({ walk: [{ instruments: 500, floors: { parse: 1 } }] }));
  const env = {
    PATH: process.env.PATH ?? '',
    KAFKA_BROKERS: stack.brokers.join(','),
    SCHEMA_REGISTRY_URL: stack.registryUrl,
  };
  const files = ['--json', file, '--compare', earlier];
  const run = startProcess(BENCH, ['--walk', '1000', '--delay', '20', '--start', '1', ...LEFT_OUT, ...files], env);
  t.after(() => run.child.kill('SIGKILL'));
  assert.deepEqual(await run.ended, { code: 0, signal: null }, run.lines.join('\n'));
  const { walk: walks, start: starts } = JSON.parse(await readFile(file, 'utf8'));
  const [walk] = walks;
  assert.deepEqual(Object.keys(walk.floors), ['fetch', 'parse', 'produce']);
  // On a slow machine some are rounded to nothing.
  for (const name of ['instruments', 'instrumentsPerSecond', 'cpuSecondsPer1000', 'timesParse', 'peakMemoryMiB']) {
    assert.ok(walk[name] > 0, `${name}: ${walk[name]}`);
  }
  for (const name of ['ofLatencyPercent', 'ofFetchPercent', 'timesFloors', 'idleMemoryMiB', 'loopDelayP99Ms']) {
    assert.ok(walk[name] >= 0, `${name}: ${walk[name]}`);
  }
  const ways = starts.map(({ way }: { way: string }) => way);
  assert.deepEqual(ways, ['npm start', 'the process alone']);
  for (const { way, medianSeconds } of starts) assert.ok(medianSeconds > 0, `${way}: ${medianSeconds}`);
  assert.ok(starts[1].cpuSeconds > 0);
  assert.match(run.lines.join('\n'), /'walk\.0\.instruments' *│ 500 *│ 1000 *│ 2 /);
});
