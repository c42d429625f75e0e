import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { InstrumentKeys } from '../../../../src/prices/core/instrument-keys.ts';
import { PartitionCore } from '../../../../src/prices/core/partition-core.ts';
import { answerAll, coreSettings, proceed } from '../../../support/priced-core.ts';

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

test('an instrument takes at most 26 bytes beyond its keys, refreshed and priced as well', () => {
  const [before, heapBefore] = [used(), usedHeap()];
  const settings = coreSettings({ lingerMs: 250, wallMs: () => 1_700_000_000_000 });
  const core = new PartitionCore(settings, { offset: 1n, instruments: instruments() }, 0);
  let asked = 0;
  for (let nowMs = 0; nowMs < 61_000; nowMs += 50) {
    proceed(core, nowMs, (batch) => {
      asked += batch.questions.length;
      answerAll(core, batch);
    });
  }
  assert.ok(asked >= INSTRUMENTS);
  const bytes = (used() - before) / core.instruments.size;
  assert.ok(bytes <= KEY_BYTES + MOST_BYTES, `${bytes} bytes with the keys`);
  const heapBytes = (usedHeap() - heapBefore) / core.instruments.size;
  assert.ok(heapBytes <= MOST_HEAP_BYTES, `${heapBytes} bytes of objects`);
  assert.equal(core.instruments.size, INSTRUMENTS);
});

test('growing takes no second table, and loses no id', () => {
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
  for (const [id] of instruments()) assert.ok(keys.find(id) >= 0, id);
});
