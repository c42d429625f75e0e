import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { ReportedFailures } from '../../../../src/prices/core/core-messages.ts';
import { InstrumentKeys } from '../../../../src/prices/core/instrument-keys.ts';
import { PartitionCore } from '../../../../src/prices/core/partition-core.ts';
import { Repayment } from '../../../../src/prices/core/price-state.ts';

const INSTRUMENTS = 100_000;
/** An id of int64 and an isin of twelve characters. */
const KEY_BYTES = 20;
const MOST_BYTES = 26;
/** The number of its currency, price type and day of repayment. */
const TERMS_BYTES = 4;

/** Of objects: what is not kept per instrument, and what the engine keeps for itself. */
const MOST_HEAP_BYTES = 12;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const used = () => process.memoryUsage().arrayBuffers;
const usedHeap = () => {
  collect();
  return process.memoryUsage().heapUsed;
};

function* instruments(): Generator<readonly [string, string]> {
  for (let index = 0; index < INSTRUMENTS; index++) {
    yield [String(1_000_000 + index * 7), `CH${String(index).padStart(10, '0')}`];
  }
}

function coreOf(table: Iterable<readonly [string, string]>): PartitionCore {
  const settings = {
    kinds: [{ kind: 'overview' as const, refreshIntervalMs: 60_000 }],
    lingerMs: 250,
    answerWithinMs: 30_000,
    maxItems: () => 500,
    maxBackoffMs: 3_600_000,
    repayment: new Repayment({ repaidAfterMs: 7 * 86_400_000, epochMs: () => 1_700_000_000_000 }),
    epochMs: 1_700_000_000_000,
    random: () => 0.5,
    reported: new ReportedFailures(),
  };
  return new PartitionCore(settings, { offset: 1n, instruments: table }, 0);
}

test('an instrument takes at most 26 bytes beyond its keys, refreshed and priced as well', () => {
  const [before, heapBefore] = [used(), usedHeap()];
  const core = coreOf(instruments());
  let asked = 0;
  for (let nowMs = 0; nowMs < 61_000; nowMs += 50) {
    for (let step = core.next(nowMs); step.kind !== 'wait'; step = core.next(nowMs)) {
      if (step.kind === 'commit') core.committed(step.transaction, nowMs);
      else {
        const { batch } = step;
        asked += batch.questions.length;
        const outcomes = batch.questions.map(() => ({ kind: 'prices' as const, records: [], isQuotingPulled: null }));
        core.answered(batch, [...outcomes.keys()], outcomes);
      }
    }
  }
  assert.ok(asked >= INSTRUMENTS);
  const bytes = (used() - before) / core.instruments.size;
  assert.ok(bytes <= KEY_BYTES + MOST_BYTES, `${bytes} bytes with the keys`);
  const heapBytes = (usedHeap() - heapBefore) / core.instruments.size;
  assert.ok(heapBytes <= MOST_HEAP_BYTES, `${heapBytes} bytes of objects`);
  assert.equal(core.instruments.size, INSTRUMENTS);
});

test('growing takes no second table', () => {
  const keys = new InstrumentKeys();
  const before = used();
  let peak = 0;
  let count = 0;
  for (const [id, isin] of instruments()) {
    keys.set(id, isin);
    count += 1;
    if (count % 1_000 === 0) peak = Math.max(peak, used() - before);
  }
  assert.ok(peak / INSTRUMENTS <= KEY_BYTES + TERMS_BYTES + 3, `${peak / INSTRUMENTS} bytes at the peak`);
});
