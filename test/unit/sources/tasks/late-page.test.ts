import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseTime } from '../../../../src/sources/stream/response-time.ts';
import { createInstrumentsTask } from '../../../../src/sources/tasks/instruments-task.ts';
import { InstrumentsCore } from '../../../../src/sources/walk/instruments-core.ts';
import { firstOffset } from '../../../../src/sources/walk/instruments-offset.ts';
import { recordedEvents } from '../../../support/ledgers/recorded-events.ts';
import { DAY_MS, SETTINGS } from '../core/driven-core.ts';
import { instrumentsTaskOptions } from './instruments-task-options.ts';

const list = <Row>(rows: readonly Row[]) => ({ rows, envelope: new Map(), bytes: 0, duplicateKeys: 0 });
const rowOf = (id: number) =>
  ({
    kind: 'record',
    key: String(id),
    id: BigInt(id),
    isin: null,
    value: Buffer.alloc(9),
    driftFields: 0,
    roundedNumbers: 0,
  }) as const;

/** A source in its first walk, driven poll by poll: the first page that is asked for comes when the test lets it. */
function walking() {
  let nowMs = 0;
  const clock = { monotonicMs: () => nowMs, wallMs: () => nowMs, sleep: () => assert.fail('a task never sleeps') };
  const time = () => responseTime(nowMs, nowMs);
  const { events } = recordedEvents();
  const { signal } = new AbortController();
  const late = Promise.withResolvers<void>();
  let pages = 0;
  const task = createInstrumentsTask({
    ...instrumentsTaskOptions({ events, clock }),
    core: new InstrumentsCore(SETTINGS, firstOffset(SETTINGS.filter, '5-0', time(), null), nowMs),
    provider: {
      // After the pause the stream has gone on.
      start: async () => ({ since: nowMs < DAY_MS ? '5-0' : '9-0', time: time() }),
      async page() {
        pages += 1;
        const isLate = pages === 1;
        if (isLate) await late.promise;
        // An instrument that is gone by the time of the second walk.
        const rows = isLate ? [rowOf(1), rowOf(2)] : [rowOf(2)];
        return { decoded: list(rows), next: null, start: null, time: time(), fetchMs: 0 };
      },
      async after(since) {
        const next = nowMs < DAY_MS ? (since ?? assert.fail('there is an offset')) : '9-0';
        return { kind: 'stream', answer: { decoded: list([]), next, nextId: next, time: time(), fetchMs: 0 } };
      },
    },
  });
  const written: string[] = [];
  /** Polls for so long of the source's clock; what waits waits as it says. */
  async function live(ms: number) {
    const endMs = nowMs + ms;
    for (let polls = 0; nowMs < endMs; polls++) {
      assert.ok(polls < 1_000, 'the task spins');
      const { records, offset, waitMs, wake, committed } = await task.poll(signal);
      for (const { topic: name, key } of records) if (name === 'instruments') written.push(String(key));
      if (offset !== null) committed(0);
      await new Promise((resolve) => setImmediate(resolve));
      if (waitMs > 0 && wake?.aborted !== true) nowMs += Math.min(waitMs, endMs - nowMs);
    }
  }
  /** The source is paused meanwhile. */
  const pause = (ms: number) => {
    nowMs += ms;
  };
  return { pause, live, pages: () => pages, written, comes: () => late.resolve() };
}

test('a page that comes after another walk has begun is dropped, and that walk asks for its own', async () => {
  const { pause, live, pages, written, comes } = walking();
  await live(2 * SETTINGS.pollIntervalMs);
  assert.equal(pages(), 1);
  // A gap is suspected: that begins a walk in place of the one that awaits its page.
  pause(7 * DAY_MS);
  await live(2 * SETTINGS.pollIntervalMs);
  assert.equal(pages(), 1, 'the list is asked for one page at a time');
  comes();
  await live(10 * SETTINGS.pollIntervalMs);
  assert.ok(pages() > 1, 'the second walk asks for its own page');
  assert.deepEqual(written, ['2']);
});
