import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drivePartitions, LINGER_MS, REFRESH_MS } from './driven-partitions.ts';

const INTERVALS = 3;
const ANSWER_MS = 50;

for (const { instruments, partitions, maxItems = 500, kinds = ['overview'] as const } of [
  { instruments: 5_000, partitions: 6 },
  { instruments: 5_000, partitions: 6, kinds: ['overview', 'intraday'] as const },
  { instruments: 50, partitions: 1 },
  { instruments: 50, partitions: 6 },
  { instruments: 1_000, partitions: 1 },
  { instruments: 100_000, partitions: 6 },
  { instruments: 3_000, partitions: 6, maxItems: 7 },
]) {
  const what = `${instruments} instruments, ${partitions} partitions, ${maxItems} in a call, ${kinds.join(' and ')}`;
  test(`refreshes are full calls, and no instrument is asked for twice within an interval: ${what}`, async (t) => {
    const driven = drivePartitions({ instruments, partitions, maxItems, kinds, takesMs: () => ANSWER_MS });
    t.after(() => driven.stop());
    // After a start some are asked for in a shorter time.
    await driven.clock.advance(REFRESH_MS);
    const most = Math.ceil(instruments / maxItems) + partitions;
    for (let interval = 0; interval < INTERVALS; interval++) {
      driven.calls.length = 0;
      driven.transactions.length = 0;
      await driven.clock.advance(REFRESH_MS);
      for (const kind of kinds) {
        const calls = driven.calls.filter((call) => call.kind === kind);
        assert.ok(calls.length <= most, `${calls.length} calls for ${kind} in an interval, at most ${most}`);
        const ids = calls.flatMap((call) => call.ids);
        assert.equal(ids.length, instruments);
        assert.equal(new Set(ids).size, instruments, 'an instrument is asked for twice, and another one not at all');
        const ages = driven.ages(kind);
        const p99Ms = ages[Math.ceil(ages.length * 0.99) - 1] ?? 0;
        assert.ok(p99Ms <= REFRESH_MS * 1.1, `p99 of the age is ${p99Ms} ms`);
      }
      assert.ok(driven.transactions.length <= Math.max(driven.calls.length, kinds.length * partitions));
    }
    t.diagnostic(`${driven.calls.length} calls and ${driven.transactions.length} transactions in the last interval`);
  });
}

for (const { instruments, calls, kinds = ['overview'] as const } of [
  { instruments: 50, calls: 1 },
  { instruments: 50, calls: 2, kinds: ['overview', 'daily'] as const },
  { instruments: 900, calls: 2 },
]) {
  test(`partitions with few instruments share calls: ${instruments} in six, ${kinds.join(' and ')}`, async (t) => {
    const driven = drivePartitions({ instruments, partitions: 6, kinds });
    t.after(() => driven.stop());
    await driven.clock.advance(2 * REFRESH_MS);
    driven.calls.length = 0;
    await driven.clock.advance(REFRESH_MS);
    assert.equal(driven.calls.length, calls);
    assert.equal(driven.calls.flatMap(({ ids }) => ids).length, instruments * kinds.length);
  });
}

for (const { instruments, repaid, calls } of [
  { instruments: 3_000, repaid: 30_000, calls: 12 },
  { instruments: 900, repaid: 9_000, calls: 2 },
]) {
  test(`what was repaid long ago adds no calls to those for the others: ${repaid} beside ${instruments}`, async (t) => {
    const driven = drivePartitions({ instruments, repaid, partitions: 6, takesMs: () => ANSWER_MS });
    t.after(() => driven.stop());
    await driven.clock.advance(2 * REFRESH_MS);
    driven.calls.length = 0;
    await driven.clock.advance(REFRESH_MS);
    const live = driven.calls.flatMap(({ ids }) => {
      const asked = ids.filter((id) => !id.startsWith('repaid-'));
      return asked.length === 0 ? [] : [asked];
    });
    assert.equal(live.flat().length, instruments);
    assert.ok(live.length <= calls, `${live.length} calls for ${instruments} instruments, at most ${calls}`);
  });
}

test('what joins and leaves little by little neither adds calls nor makes others late', async (t) => {
  const driven = drivePartitions({ instruments: 900, partitions: 1 });
  t.after(() => driven.stop());
  await driven.clock.advance(REFRESH_MS);
  for (let interval = 0; interval < 20; interval++) {
    driven.calls.length = 0;
    // Passes the next full batch on the way: 1,000.
    for (let at = 0; at < 10; at++) driven.read(`9${interval}${at}`, `new-${interval}-${at}`);
    for (let step = 0; step < REFRESH_MS; step += 5_000) {
      await driven.clock.advance(5_000);
      assert.deepEqual(driven.overdue('overview'), []);
    }
    const ages = driven.ages('overview');
    assert.ok((ages[Math.ceil(ages.length * 0.99) - 1] ?? 0) <= REFRESH_MS * 1.1);
    // One for the new ones; and one where the slots change.
    const most = Math.ceil(driven.ages('overview').length / 500) + 1;
    assert.ok(driven.calls.length <= most + 2, `${driven.calls.length} calls where ${most} would do`);
  }
});

for (const { instruments, partitions } of [
  { instruments: 50, partitions: 1 },
  { instruments: 5_000, partitions: 6 },
  { instruments: 30_000, partitions: 6 },
]) {
  const what = `${instruments} instruments, ${partitions} partitions`;
  test(`what is new or has changed is asked for within the linger, whatever the slots: ${what}`, async (t) => {
    const kinds = ['overview', 'daily'] as const;
    const driven = drivePartitions({ instruments, partitions, kinds, takesMs: () => ANSWER_MS });
    t.after(() => driven.stop());
    await driven.clock.advance(REFRESH_MS);
    for (let at = 0; at < 20; at++) {
      // In turn one that was not there, and one that has another isin.
      const id = at % 2 === 0 ? `9${at}` : String(1_000 + at * 7);
      const readAtMs = driven.clock.monotonicMs();
      driven.read(id, `new-${at}`);
      await driven.clock.advance(600);
      for (const kind of kinds) {
        // Where all calls are under way, one of them ends first.
        const asked = driven.calls.find((call) => call.kind === kind && call.atMs >= readAtMs && call.ids.includes(id));
        assert.ok(
          asked && asked.atMs - readAtMs <= LINGER_MS + ANSWER_MS,
          `${id} is asked for ${kind} at ${asked?.atMs}`,
        );
        assert.ok(driven.isPriced(kind, id));
      }
      await driven.clock.advance(2_000);
    }
  });
}
