import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  backfillSeries,
  HIGHEST,
  progressOf,
  readInstruments,
} from '../../../src/commands/backfill/backfill-operation.ts';
import { BACKFILL_GROUP } from '../../../src/commands/backfill/backfill-plan.ts';
import { keyedRecord } from '../../../src/kafka/record.ts';
import { partitionsOf } from '../../../src/kafka/topic.ts';
import type { AskedInstrument } from '../../../src/prices/core/instrument.ts';
import { PROBLEM } from '../../../src/prices/price-records.ts';
import type { Installation } from '../../../src/run/installation.ts';
import type { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { memoryInstallation } from '../../support/memory-kafka/memory-installation.ts';

const { topics } = await memoryInstallation();
const MINUS_SMALLEST = '-9223372036854775808';

const GROUP = { [BACKFILL_GROUP]: 'p-backfill-daily-1' };
const LETTER = { ...GROUP, [PROBLEM]: 'status 404' };

function instrument(id: string): AskedInstrument {
  const terms = { currency: null, priceType: null, repaymentDay: null };
  return { id, isin: `isin ${id}`, terms, row: 0, version: 0, isinChanged: false, plans: [] };
}

/** Writes one window for each instrument; what `fails` has is without prices. Ends with an error at the n-th page. */
async function run(
  at: Installation,
  ids: readonly string[],
  own: { endsAt?: number; fails?: readonly string[]; empty?: readonly string[]; beforePage?: () => Promise<void> } = {},
) {
  const { endsAt = Number.POSITIVE_INFINITY, fails = [], empty = [] } = own;
  const instruments = ids.map(instrument).sort((a, b) => (progressOf(a) < progressOf(b) ? -1 : 1));
  const asked: string[][] = [];
  const ask = async (
    page: readonly AskedInstrument[],
    _: unknown,
    isNews: (id: string, problem: 'status 404') => boolean,
  ): ReturnType<Parameters<typeof backfillSeries>[1]['ask']> => {
    if (asked.length === endsAt) throw new Error('killed');
    asked.push(page.map(({ id }) => id));
    await own.beforePage?.();
    const dead = page.filter(({ id }) => fails.includes(id));
    return {
      records: [
        ...page
          .filter((one) => !dead.includes(one) && !empty.includes(one.id))
          .map(({ id }) => keyedRecord(topics['daily-prices'], `${id}/OHLC/2026-11-02`, Buffer.from('window'), GROUP)),
        ...dead.map(({ id }) => keyedRecord(topics['dead-letters'], id, Buffer.from('{}'), LETTER)),
      ],
      windows: page.length - dead.length,
      deadLetters: dead.filter(({ id }) => isNews(id, 'status 404')).length,
      failed: dead.map(({ isin }) => ({ isin, problem: 'status 404' as const })),
    };
  };
  const progress = await backfillSeries(at, {
    instruments,
    slices: [{ fromMs: 0, toMs: 1 }],
    instrumentsPerPage: 2,
    topic: topics['daily-prices'],
    transactionalId: 'p-backfill-daily',
    groupId: 'p-backfill-daily-1',
    ask: ask as never,
    onProgress: () => {},
  }).catch((error: Error) => error);
  return { asked, progress };
}

const written = (broker: MemoryBroker) =>
  partitionsOf(topics['daily-prices'])
    .flatMap(({ partition }) => broker.readCommitted('p.daily-prices', partition))
    .map(({ key }) => String(key).split('/')[0])
    .sort();

test('instruments with negative ids are backfilled, once, wherever the run is ended', async () => {
  const ids = ['-7', '7', '-3', '1', '2', '8', MINUS_SMALLEST];
  for (let endsAt = 0; endsAt < 5; endsAt++) {
    const at = await memoryInstallation();
    const first = await run(at, ids, { endsAt });
    await run(at, ids);
    assert.deepEqual(written(at.broker), [...ids].sort(), `ended at page ${endsAt}`);
    const parted = first.asked.filter((page) => page.includes('7') !== page.includes('-7'));
    assert.deepEqual(parted, [], 'two ids with one progress are one page');
    assert.deepEqual((await run(at, ids)).asked, [], 'complete');
  }
  assert.ok(progressOf(instrument(MINUS_SMALLEST)) < HIGHEST);
});

test('a backfill that runs again requests the products without a window only if products came or left', async () => {
  const at = await memoryInstallation();
  await run(at, ['3', '5', '7', '9'], { fails: ['5'], empty: ['7'] });
  const ids = ['2', '3', '4', '5', '7', '8', '9', '10', '11'];
  const killed = await run(at, ids, { endsAt: 1 });
  assert.deepEqual(killed.asked, [['2', '4']]);
  assert.deepEqual((await run(at, ids, { endsAt: 0 })).asked, []);
  const { asked, progress } = await run(at, ids);
  assert.deepEqual(asked, [
    ['7', '8'],
    ['10', '11'],
  ]);
  assert.ok(!(progress instanceof Error));
  assert.deepEqual([progress.done, progress.instruments, progress.windows], [9, 9, 4]);
  assert.deepEqual((await run(at, ids)).asked, []);
  assert.deepEqual(written(at.broker), ['2', '3', '4', '7', '8', '9', '10', '11'].sort());
});

test('an interrupted backfill of an empty range continues where it stopped', async () => {
  const at = await memoryInstallation();
  const ids = ['1', '2', '3', '4', '5'];
  await run(at, ids, { endsAt: 2, empty: ids });
  assert.deepEqual((await run(at, ids, { empty: ids })).asked, [['5']]);
  assert.deepEqual((await run(at, ids)).asked, []);
});

test('a second backfill ends the first, which says so', async () => {
  const at = await memoryInstallation();
  const { progress } = await run(at, ['1', '2', '3'], {
    async beforePage() {
      const second = at.kafka.transactionalWriter('p-backfill-daily');
      await second.open(async () => null, at.signal);
    },
  });
  assert.match(String(progress), /Another backfill of the same kind of prices has begun, so this one has ended\./);
});

test('a run after an earlier version, whose windows have no header, continues behind its progress', async () => {
  const at = await memoryInstallation();
  const place = { topic: 'p.daily-prices', partition: 0 };
  const writer = at.kafka.transactionalWriter('p-backfill-daily');
  await writer.open(async () => null, at.signal);
  await writer.commit({ records: [], consumerOffset: { groupId: 'p-backfill-daily-1', ...place, offset: 3n } });
  await writer.close();
  assert.deepEqual((await run(at, ['1', '2', '3'])).asked, [['3']]);
  assert.deepEqual((await run(at, ['0', '1', '2', '3'])).asked, []);
});

test('a run that goes on names what an interrupted one found without prices, and nothing of another request', async () => {
  const at = await memoryInstallation();
  const ids = ['1', '2', '3', '4', '5', '6'];
  const foreign = { ...LETTER, [BACKFILL_GROUP]: 'p-backfill-daily-2' };
  await at.write([keyedRecord(topics['dead-letters'], '3', Buffer.from('{}'), foreign)]);
  await run(at, ids, { endsAt: 2, fails: ['1', '4'] });
  for (const fails of [['6'], []]) {
    const { progress } = await run(at, ids, { fails });
    assert.ok(!(progress instanceof Error));
    assert.deepEqual(progress.failed.map(({ isin }) => isin).sort(), ['isin 1', 'isin 4', 'isin 6']);
    assert.equal(progress.failed[0]?.problem, 'status 404');
  }
});

test('products without prices are named, and are dead letters once', async () => {
  const at = await memoryInstallation();
  const { progress } = await run(at, ['1', '2', '3'], { fails: ['2'] });
  assert.ok(!(progress instanceof Error));
  const { done, windows, deadLetters, failed } = progress;
  assert.deepEqual({ done, windows, deadLetters }, { done: 3, windows: 2, deadLetters: 1 });
  assert.deepEqual(failed, [{ isin: 'isin 2', problem: 'status 404' }]);
});

test('isins that no instrument has, and records that cannot be read, are given by name and place', async () => {
  const at = await memoryInstallation();
  const key = (text: string) => ({ topic: 'p.instruments', partition: 0, key: Buffer.from(text), headers: {} });
  await at.write([
    { ...key('1'), value: Buffer.from('no Avro') },
    { ...key('no id'), value: Buffer.from('?') },
  ]);
  const registry = { schemaText: async () => '"string"' };
  const read = await readInstruments(at, registry, new Set(['CH0012032048']));
  assert.deepEqual([read.instruments, read.absent], [[], ['CH0012032048']]);
  assert.deepEqual(
    read.unreadable.map(({ topic, partition, records, firstOffset }) => [topic, partition, records, firstOffset]),
    [['p.instruments', 0, 2, '0']],
  );
});
