import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Batch } from '../../../../src/prices/core/batch.ts';
import { PartitionCore } from '../../../../src/prices/core/partition-core.ts';
import { answerAll, coreSettings, PRICED, problem, proceed } from '../../../support/priced-core.ts';

const MINUTE_MS = 60_000;
const INTERVAL_MS = 60 * MINUTE_MS;
const LOST_MS = 2 * INTERVAL_MS;
const BACK_MS = LOST_MS + 10 * MINUTE_MS;
const INSTRUMENTS = Array.from({ length: 300 }, (_, id) => [String(id), `isin-${id}`] as const);

function coreAt(nowMs: number, before?: PartitionCore): PartitionCore {
  const kinds = [{ kind: 'overview', refreshIntervalMs: INTERVAL_MS }] as const;
  const settings = coreSettings({ kinds, maxItems: () => 10, maxBackoffMs: INTERVAL_MS });
  return new PartitionCore(settings, { offset: 0n, instruments: INSTRUMENTS, before: before?.instruments }, nowMs);
}

/** Lets time pass. Instrument 7 always fails. Gives the times of the requests by instrument. */
function run(core: PartitionCore, fromMs: number, untilMs: number) {
  const asked = new Map<string, number[]>();
  for (let nowMs = fromMs; nowMs < untilMs; nowMs += 10_000) {
    proceed(core, nowMs, (batch: Batch) => {
      for (const { id } of batch.questions) asked.set(id, [...(asked.get(id) ?? []), nowMs]);
      answerAll(core, batch, (id) => (id === '7' ? problem(500) : PRICED));
    });
  }
  return asked;
}

test('slots that pass while the writer is away are made up for at once, all others keep their times', () => {
  const core = coreAt(0);
  const before = run(core, 0, LOST_MS);
  const after = run(coreAt(BACK_MS, core), BACK_MS, BACK_MS + INTERVAL_MS);
  const missed = [...before].filter(([id, times]) => id !== '7' && (times.at(-1) ?? 0) + INTERVAL_MS <= BACK_MS);
  assert.ok(missed.length > 30 && missed.length < 70, `${missed.length} of 300 have missed a slot of 10 minutes`);
  for (const [id, times] of after) {
    if (id === '7') continue;
    const first = times[0] ?? 0;
    const isMissed = missed.some(([one]) => one === id);
    assert.equal(first === BACK_MS, isMissed, `${id} is requested ${first - BACK_MS} ms after the return`);
    const lastMs = before.get(id)?.at(-1) ?? 0;
    if (!isMissed) assert.ok(Math.abs(first - lastMs - INTERVAL_MS) <= 10_000, `${id} keeps its slot`);
  }
  assert.notEqual(after.get('7')?.[0], BACK_MS, 'what fails waits for its slot');
  after.delete('7');
  assert.equal(after.size, 299);
});

test('a process that has just begun makes up for nothing', () => {
  assert.equal(run(coreAt(BACK_MS), BACK_MS, BACK_MS + 1_000).size, 0);
});
