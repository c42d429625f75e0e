import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OutgoingRecord } from '../../../../src/kafka/record.ts';
import type { DecodedRow } from '../../../../src/records/decoding/page-decoder.ts';
import type { SourceTask } from '../../../../src/sources/source-worker.ts';
import { responseTime } from '../../../../src/sources/stream/response-time.ts';
import type { InstrumentsPage } from '../../../../src/sources/tasks/instruments-provider.ts';
import { createInstrumentsTask } from '../../../../src/sources/tasks/instruments-task.ts';
import { Census } from '../../../../src/sources/walk/census.ts';
import { InstrumentsCore } from '../../../../src/sources/walk/instruments-core.ts';
import { firstOffset } from '../../../../src/sources/walk/instruments-offset.ts';
import { recordedEvents } from '../../../support/ledgers/recorded-events.ts';
import { skippingClock } from '../../../support/runner/manual-clock.ts';
import { settle } from '../../kafka/stepped-clock.ts';
import { DAY_MS, SETTINGS } from '../core/driven-core.ts';
import { instrumentsTaskOptions } from './instruments-task-options.ts';

const RETENTION_SECONDS = 7 * 86_400;
const { signal } = new AbortController();
const list = <Row>(rows: readonly Row[]) => ({ rows, envelope: new Map(), bytes: 0, duplicateKeys: 0 });

/** Polls until the task waits, committing everything; gives what it committed. */
async function pollUntilWaiting(task: SourceTask): Promise<readonly OutgoingRecord[]> {
  const written: OutgoingRecord[] = [];
  for (let polls = 0; polls < 20; polls++) {
    const { records, offset, waitMs, wake, committed } = await task.poll(signal);
    written.push(...records);
    if (offset !== null) committed(0);
    // What a wait is ended by may be there already.
    if (waitMs > 0) await new Promise((resolve) => setImmediate(resolve));
    if (waitMs > 0 && wake?.aborted !== true) return written;
  }
  assert.fail('the task never waits');
}

const ROW = {
  kind: 'record',
  key: '7',
  id: 7n,
  isin: null,
  value: Buffer.alloc(9),
  driftFields: 0,
  roundedNumbers: 0,
} as const;

function delisting(id: bigint) {
  const key = String(id);
  const [eventValue, instrumentValue] = [Buffer.alloc(1), Buffer.alloc(1)];
  const event = { kind: 'event', key, id, type: 'delisting', name: null, isin: null, digest: id } as const;
  return { ...event, eventValue, instrumentValue, driftFields: 0, roundedNumbers: 0 };
}

/** An instruments source whose list has these rows and whose stream is quiet; each of its answers takes `answerMs`. */
function quietInstruments(
  rows: readonly DecodedRow[],
  answerMs: number,
  { census = new Census(), deleted = [] }: { readonly census?: Census; readonly deleted?: readonly bigint[] } = {},
) {
  const clock = skippingClock();
  const { events, seen } = recordedEvents();
  const time = () => responseTime(clock.wallMs(), clock.wallMs());
  const task = createInstrumentsTask({
    ...instrumentsTaskOptions({ events, clock }),
    core: new InstrumentsCore(
      { ...SETTINGS, handoffMarginMs: 0 },
      { ...firstOffset(SETTINGS.filter, '5-0', time(), null), serverDate: time() },
      clock.monotonicMs(),
    ),
    provider: {
      start: () => assert.fail('there is an offset'),
      page: async () => ({ decoded: list(rows), next: null, start: null, time: time(), fetchMs: 30 }),
      async after(since) {
        await clock.sleep(answerMs, signal);
        const next = since === '5-0' && deleted.length > 0 ? '6-0' : (since ?? assert.fail('there is an offset'));
        const decoded = list(next === since ? [] : deleted.map(delisting));
        return { kind: 'stream', answer: { decoded, next, nextId: next, time: time(), fetchMs: answerMs } };
      },
    },
    census: async () => census,
    settings: { ...SETTINGS, deleteOnEventTypes: ['delisting'], handoffMarginMs: 0 },
  });
  return { task, seen, clock };
}

test('the rows of a page report when the page came, whatever the stream has answered since', async () => {
  const { task, clock } = quietInstruments([ROW], 40);
  const startedMs = clock.wallMs();
  const written = await pollUntilWaiting(task);
  const received = written.find((sent) => sent.topic === 'instruments')?.headers['spc-received'];
  // The stream was asked at the start and before the page, and once more before the page was used.
  assert.equal(received, new Date(startedMs + 2 * 40).toISOString());
});

test('an instruments source reports each answer of stream and list, and none where no poll was answered', async () => {
  const { task, seen } = quietInstruments([], 0);
  await pollUntilWaiting(task);
  assert.deepEqual(seen[0], {
    name: 'sourceStarted',
    fields: {
      source: 'instruments',
      since: '5-0',
      secondsToRetentionCliff: RETENTION_SECONDS,
      secondsToNextWalk: null,
      walksWithoutDeletion: 0,
      walk: { walk: 1, startedAt: '1970-01-01T00:16:40.000Z', pages: 0, rows: 0, gone: null },
    },
  });
  const polls = seen.filter(({ name }) => name === 'polled').map(({ fields }) => fields);
  // The stream comes first, then the census, which is no poll. Then the stream again, the page, its drain, and the end.
  const endpoints = polls.map(({ endpoint }) => endpoint);
  assert.deepEqual(endpoints, ['events', 'events', 'instruments', 'events', 'instruments', 'events']);
  for (const { source, since, caughtUp, secondsToRetentionCliff } of polls) {
    assert.deepEqual([source, since, caughtUp], ['instruments', '5-0', true]);
    assert.equal(secondsToRetentionCliff, RETENTION_SECONDS);
  }
});

test('instruments that a walk no longer finds, or that an event deletes, are reported with their number', async () => {
  const census = new Census();
  for (const id of [11n, 12n, 13n]) census.put(id, id, true);
  const { task, seen } = quietInstruments([ROW], 0, { census, deleted: [21n, 22n] });
  const written = await pollUntilWaiting(task);
  const tombstones = written.filter(({ topic: name, value }) => name === 'instruments' && value === null);
  assert.equal(tombstones.length, 5);
  assert.equal(seen.find(({ name }) => name === 'polled')?.fields.rows, 2);
  const reported = seen.filter(({ name }) => name === 'instrumentsDeleted').map(({ fields }) => fields);
  assert.deepEqual(reported, [
    { source: 'instruments', why: 'event', instruments: 2 },
    { source: 'instruments', why: 'walk', instruments: 3 },
  ]);
});

/** Shorter than a response of the stream is kept for a drain. */
const POLL_MS = 7_000;
const row = { kind: 'record', key: '7', id: 7n, isin: null, value: Buffer.alloc(9), driftFields: 0, roundedNumbers: 0 };

/** An instruments source that is polled by hand; the list answers when the test says so, and the stream at once. */
function scene() {
  const clock = { ms: 0, monotonicMs: () => clock.ms, wallMs: () => clock.ms, sleep: () => assert.fail('no sleep') };
  const { events } = recordedEvents();
  const time = () => responseTime(clock.ms, clock.ms);
  const core = new InstrumentsCore(
    { ...SETTINGS, pollIntervalMs: POLL_MS },
    firstOffset(SETTINGS.filter, '5-0', time(), null),
    0,
  );
  const stream = { next: '5-0' };
  /** How long the source last waited for. */
  const waited = { ms: 0 };
  const streamedAtMs: number[] = [];
  const asked: {
    readonly minId: string | null;
    readonly arrives: (probableNext: string | null) => void;
    readonly answer: PromiseWithResolvers<InstrumentsPage>;
  }[] = [];
  const written: (string | null)[] = [];
  const task = createInstrumentsTask({
    ...instrumentsTaskOptions({ events, clock }),
    core,
    provider: {
      start: () => assert.fail('there is an offset'),
      page(minId, _, arrives = () => {}) {
        const answer = Promise.withResolvers<InstrumentsPage>();
        asked.push({ minId, arrives, answer });
        return answer.promise;
      },
      async after() {
        streamedAtMs.push(clock.ms);
        const answer = { decoded: list([]), next: stream.next, nextId: stream.next, time: time(), fetchMs: 0 };
        return { kind: 'stream', answer };
      },
    },
  });
  /** Polls and commits until this holds, with the waits that the source asks for. */
  async function until(holds: () => boolean): Promise<void> {
    for (let polls = 0; !holds(); polls++) {
      assert.ok(polls < 100, `it stays in ${core.phase}`);
      const turn = await task.poll(signal);
      written.push(...turn.records.filter((record) => record.topic === 'instruments').map(({ key }) => String(key)));
      if (turn.offset !== null) turn.committed(0);
      clock.ms += turn.waitMs;
      waited.ms = turn.waitMs;
    }
  }
  async function answers(index: number, next: string | null = null, rows: readonly unknown[] = [row]) {
    const page = { decoded: list(rows), next, start: null, time: time(), fetchMs: 0 } as InstrumentsPage;
    (asked[index] ?? assert.fail('the list was not asked')).answer.resolve(page);
    await settle();
  }
  /** The process stands still for days, as a machine that is suspended; behind it, the stream begins another walk. */
  async function standsStill(): Promise<void> {
    assert.equal(core.offset?.walk, 1);
    clock.ms += 7 * DAY_MS;
    stream.next = '6-0';
    await until(() => core.offset?.walk === 2);
  }
  return { core, clock, waited, asked, streamedAtMs, written, until, answers, standsStill };
}

/** Where the second walk is when the answer to a request of the first one comes. */
const MOMENTS = {
  'has just begun': ({ core }: ReturnType<typeof scene>) => core.phase === 'census',
  'could use a first page': ({ core, waited }: ReturnType<typeof scene>) =>
    core.phase === 'margin' && waited.ms > SETTINGS.handoffMarginMs,
} as const;

for (const [moment, isReached] of Object.entries(MOMENTS)) {
  test(`a page of an earlier walk is dropped where it comes when the next walk ${moment}`, async () => {
    const source = scene();
    const { core, asked, written, until, answers, standsStill } = source;
    await until(() => asked.length === 1);
    await standsStill();
    await until(() => isReached(source));
    await answers(0);
    await until(() => asked.length === 2);
    assert.deepEqual([core.phase, written], ['margin', []], 'only its own pages are used');
    await answers(1);
    await until(() => written.length > 0);
    assert.deepEqual(written, ['7']);
  });
}

test('what lies behind the last row of an earlier walk is dropped', async () => {
  const { core, asked, until, answers, standsStill } = scene();
  await until(() => asked.length === 1);
  await answers(0);
  await until(() => asked.length === 2);
  assert.deepEqual([core.phase, asked[1]?.minId], ['verifying', '7']);
  await standsStill();
  await answers(1, null, []);
  await until(() => asked.length === 3);
  assert.deepEqual([core.phase, asked[2]?.minId], ['margin', null], 'the next walk asks for its first page');
});

test('a poll while a page is decoded is not answered by what was asked for the drain of that page', async () => {
  const { core, clock, asked, written, streamedAtMs, until, answers } = scene();
  await until(() => asked.length === 1);
  await answers(0, '8');
  await until(() => written.length > 0);
  await until(() => core.phase === 'paging');
  clock.ms += 1;
  asked[1]?.arrives(null);
  assert.equal(streamedAtMs.at(-1), clock.ms, 'the drain of the second page has begun');
  const { length } = streamedAtMs;
  const arrivedMs = clock.ms;
  await until(() => streamedAtMs.length > length);
  assert.ok((streamedAtMs.at(-1) ?? 0) - arrivedMs <= POLL_MS, 'the next poll asks the stream itself');
  assert.equal(core.phase, 'paging');
  await answers(1);
  await until(() => core.phase === 'verifying');
});
