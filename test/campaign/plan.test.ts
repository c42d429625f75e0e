import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawRounds, FAULT_NAMES, type FaultName, SOAK_FAULTS } from './plan.ts';
import { rowsOf, tableOf } from './report.ts';

const rounds = (seed: number, faults: readonly FaultName[] = FAULT_NAMES, count = 300) =>
  drawRounds({ seed, faults, connectors: 3, brokers: 3 }).take(count).toArray();

test('the same seed gives the same rounds, another gives others', () => {
  assert.deepEqual(rounds(7), rounds(7));
  assert.notDeepEqual(rounds(7), rounds(8));
});

test('a plan holds every kind of fault, every broker and every step', () => {
  const plan = rounds(1);
  assert.deepEqual(new Set(plan.map(({ fault }) => fault)), new Set(FAULT_NAMES));
  assert.deepEqual(new Set(plan.map(({ broker }) => broker)), new Set([1, 2, 3]));
  const after = plan.map(({ afterCommitMs }) => afterCommitMs);
  assert.ok(Math.min(...after) === 0 && Math.max(...after) > 40 && Math.max(...after) < 50);
  assert.ok(after.filter((ms) => ms <= 6).length > after.length / 3);
  const ways = plan.map(({ ofCoordinator, withoutMarkers }) => `${ofCoordinator} ${withoutMarkers}`);
  assert.equal(new Set(ways).size, 4);
  assert.equal(new Set(plan.flatMap(({ draws }) => draws.map(({ moment }) => moment.at))).size, 8);
  assert.deepEqual(new Set(rounds(1, SOAK_FAULTS).map(({ fault }) => fault)), new Set(SOAK_FAULTS));
});

test('the report counts what was struck, and has its times and findings', () => {
  const struck = [300, 100, 200].map((recoveryMs) => ({ row: 'kill -9 at random', count: 2, recoveryMs }));
  const rows = rowsOf(struck, new Map([['kill -9 at random', [{ kind: 'twice', text: 'an event' }]]]));
  const [row] = rows;
  assert.deepEqual([row?.n, row?.findings], [6, [0, 1, 0, 0, 0]]);
  assert.deepEqual(row?.recoveryMs, { p50: 200, p95: 300, max: 300 });
  assert.match(tableOf(rows), /^\| kill -9 at random \| 6 \| 0 \| 1 \| 0 \| 0 \| 0 \| 0\.2 \/ 0\.3 \/ 0\.3 s \|$/m);
});
