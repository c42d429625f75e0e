import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { INTRADAY } from '../../../src/config/price-kinds/all.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { createProviderPrices } from '../../../src/prices/provider-prices.ts';
import { createMissedNotices } from '../../../src/prices/window-progress.ts';
import type { PriceRequest } from '../../../src/provider/market-data.ts';
import { createRecordReader } from '../../../src/records/avro/record-reader.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { chunked } from '../../support/decoding/avro-decoding.ts';
import { bulkBody, failedItem, pricedItem } from '../../support/decoding/bulk-answers.ts';
import { SteppedClock } from '../kafka/stepped-clock.ts';
import { memoryPrices, NOTIFICATION_SCHEMA_ID, SERIES_SCHEMA_ID, TOPICS } from './memory-prices.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const WINDOW_MS = 5 * MINUTE_MS;
const START_MS = Date.UTC(2026, 0, 7, 8);
const IDS = Array.from({ length: 9 }, (_, id) => String(id + 1));
const isinOf = (id: string) => `isin-${id}`;

class Clock extends SteppedClock {
  override wallMs(): number {
    return START_MS + super.wallMs();
  }
}

function kindsWith(catchUpMs: number) {
  const [plan] = INTRADAY.plans({ fields: ['Close'], interval: ['Minute_5'], lookBackMs: HOUR_MS, catchUpMs });
  assert.ok(plan);
  return [{ ...plan, kind: 'intraday', topic: 'intraday-prices', refreshIntervalMs: WINDOW_MS }] as const;
}

/** A member that follows windows of five minutes, and a provider that has each of them, always the same, but for `without`. */
async function scene(t: TestContext, { catchUpMs = 24 * HOUR_MS } = {}) {
  const clock = new Clock();
  const { broker, write, start: join } = await memoryPrices(t, clock);
  const list = (ids: readonly string[]) => write(...ids.map((id) => [id, isinOf(id)] as const));
  const provider = { isDown: false, isClosed: false, failing: new Set<string>(), status: 500, most: 0 };
  let broken = 0;
  const kinds = kindsWith(catchUpMs);

  function item({ isin, query }: PriceRequest): string {
    if (provider.failing.has(isin)) return failedItem(isin, `{"status":${provider.status}}`);
    assert.ok(query.kind === 'intraday' && query.dateFrom !== null);
    const untilMs = Math.min(Date.parse(query.dateTo ?? '9999-01-01'), clock.wallMs());
    const windows: string[] = [];
    for (let ms = Date.parse(query.dateFrom); ms <= untilMs && !provider.isClosed; ms += WINDOW_MS) {
      const [open, close] = [ms, ms + WINDOW_MS].map((one) => new Date(one).toISOString());
      windows.push(`{"windowOpenTimestamp":"${open}","windowCloseTimestamp":"${close}","close":1}`);
    }
    provider.most = Math.max(provider.most, windows.length);
    return pricedItem(isin, `"prices":[${windows}]`, 'ProductIntradayPriceResponse');
  }

  const prices = createProviderPrices({
    marketData: {
      bulkEndpoint: '/bulk',
      async bulk(items, consume) {
        if (provider.isDown) throw new ConnectorError('PROVIDER_BUSY', 'status 500', { fields: { status: 500 } });
        const body = chunked(bulkBody(items.map(item)), 10_000);
        return consume({ date: clock.wallMs(), arrived: async () => null, bytes: () => 0, body });
      },
      single: () => Promise.reject(new Error('only bulk')),
    },
    kinds,
    schemaId: async () => SERIES_SCHEMA_ID,
    maxValueBytes: () => Number.POSITIVE_INFINITY,
    onMismatch: 'deadLetter',
    assumedZone: null,
    clock,
  });
  const onStep = (step: string) => {
    if (step !== 'committing' || broken === 0) return;
    broken -= 1;
    throw new Error('the connection broke');
  };
  const start = () => join({ prices, kinds, answerWithinMs: 30_000, onStep });
  let member = start();

  const partitions = [0, 1, 2];
  const keys = () =>
    partitions
      .flatMap((partition) => broker.readCommitted(TOPICS.intraday.name, partition))
      .map(({ key }) => String(key));
  const reader = createRecordReader({ schemas: new Map([[NOTIFICATION_SCHEMA_ID, readSchemaText('Notification')]]) });
  await list(IDS);
  return {
    provider,
    clock,
    list,
    seen: () => member.seen,
    async minutes(count: number) {
      for (let minute = 0; minute < count; minute++) await clock.advance(MINUTE_MS);
    },
    breakWriters() {
      broken = partitions.length;
    },
    stop: () => member.stop(),
    startAgain() {
      member = start();
    },
    notifications: () =>
      broker.readCommitted(TOPICS.notifications.name, 0).map(({ value }) => reader.read(value ?? Buffer.alloc(0))),
    /** Each window is on the topic once. @returns those that are missing, of an id. */
    missing(id: string, fromMs = START_MS - HOUR_MS): number[] {
      const all = keys();
      const twice = all.filter((key, index) => all.indexOf(key) !== index);
      assert.deepEqual(twice, [], 'a window was written twice');
      const own = all.filter((key) => key.startsWith(`${id}/`));
      const there = new Set(own.map((key) => Date.parse(key.split('/')[3] ?? '')));
      const missing: number[] = [];
      for (let ms = fromMs; ms < clock.wallMs() - WINDOW_MS; ms += WINDOW_MS) if (!there.has(ms)) missing.push(ms);
      return missing;
    },
  };
}

test('after ten hours of refusals every window is requested, of a product that fails alone too, and each is written once', async (t) => {
  const at = await scene(t);
  await at.minutes(60);
  at.provider.isDown = true;
  await at.minutes(600);
  at.provider.isDown = false;
  for (let second = 0; IDS.some((id) => at.missing(id).length > 0); second++) {
    assert.ok(second < 600, 'it takes too long');
    await at.clock.advance(1_000);
  }
  // The mark is committed once a minute: the next start begins before the outage, and writes nothing again.
  await at.stop();
  at.startAgain();
  await at.minutes(30);
  for (const id of IDS) assert.deepEqual(at.missing(id), []);
  assert.ok(at.provider.most <= 61, `${at.provider.most} windows of one product in a response`);
  at.provider.failing.add(isinOf('4'));
  await at.minutes(90);
  at.breakWriters();
  await at.minutes(90);
  at.provider.failing.clear();
  await at.minutes(70);
  assert.deepEqual(at.missing('4'), []);
  assert.deepEqual(at.notifications(), []);
});

test('the windows of a time without a processor are requested at its start, of what was issued meanwhile too', async (t) => {
  const at = await scene(t);
  await at.minutes(61);
  await at.stop();
  await at.minutes(120);
  await at.list(['77']);
  await at.minutes(180);
  at.startAgain();
  await at.minutes(10);
  for (const id of IDS) assert.deepEqual(at.missing(id), []);
  assert.deepEqual(at.missing('77', START_MS + HOUR_MS), []);
  // Again with an outage that goes on at the start.
  at.provider.isDown = true;
  await at.minutes(90);
  await at.stop();
  at.startAgain();
  await at.minutes(90);
  at.provider.isDown = false;
  await at.minutes(30);
  for (const id of IDS) assert.deepEqual(at.missing(id), []);
  assert.deepEqual(at.notifications(), []);
});

test('windows before the longest outage that is caught up are reported once, with the command that fills them', async (t) => {
  const at = await scene(t, { catchUpMs: 2 * HOUR_MS });
  await at.minutes(61);
  await at.stop();
  await at.minutes(360);
  at.startAgain();
  await at.minutes(30);
  const notifications = at.notifications();
  assert.equal(notifications.length, 1);
  const [{ kind, message, gapFrom, gapTo } = {} as never] = notifications;
  assert.equal(kind, 'windows-missed');
  assert.match(String(message), /spconnect backfill intraday --from 2026-01-07T08:45:00Z --to 2026-01-07T12:15:00Z$/);
  assert.equal(at.seen().filter(({ name }) => name === 'windowsMissed').length, 1);
  for (const id of IDS) {
    const missing = at.missing(id);
    assert.ok(missing.length > 30);
    for (const ms of missing) assert.ok(ms >= Date.parse(String(gapFrom)) && ms < Date.parse(String(gapTo)));
  }
});

test('marks of two partitions that lie an interval and a minute apart are of one outage', async () => {
  const registry = { schemaId: async () => NOTIFICATION_SCHEMA_ID };
  const noticeOf = createMissedNotices({ kinds: kindsWith(HOUR_MS), topic: TOPICS.notifications, registry });
  const reported: boolean[] = [];
  for (const fromMs of [START_MS, START_MS - WINDOW_MS - MINUTE_MS]) {
    const missed = { kind: 'intraday', fromMs, toMs: START_MS + HOUR_MS, isins: null } as const;
    reported.push((await noticeOf(missed, START_MS, new AbortController().signal)) !== null);
  }
  assert.deepEqual(reported, [true, false]);
});

test('a market that is closed for longer than that is no outage, at a restart neither', async (t) => {
  const at = await scene(t, { catchUpMs: 2 * HOUR_MS });
  await at.minutes(61);
  at.provider.isClosed = true;
  await at.minutes(300);
  await at.stop();
  at.startAgain();
  await at.minutes(5);
  at.provider.isClosed = false;
  await at.minutes(60);
  assert.deepEqual(at.notifications(), []);
});

test('a product that failed alone for longer is reported with its ISIN, and one without prices is not', async (t) => {
  const at = await scene(t, { catchUpMs: 2 * HOUR_MS });
  await at.minutes(10);
  for (const status of [404, 500]) {
    at.provider.status = status;
    at.provider.failing.add(isinOf('4'));
    await at.minutes(360);
    at.provider.failing.clear();
    await at.minutes(70);
    const messages = at.notifications().map(({ message }) => String(message));
    assert.equal(messages.length, status === 404 ? 0 : 1);
    if (status === 500) assert.match(messages[0] ?? '', /--isin isin-4$/);
  }
  at.provider.failing.add(isinOf('4'));
  await at.minutes(360);
  await at.stop();
  at.provider.most = 0;
  at.startAgain();
  await at.minutes(10);
  assert.ok(at.provider.most <= 20, `${at.provider.most} windows: it holds up no other product`);
});

test('a provider that gives each product an error for hours loses no window, over a restart neither', async (t) => {
  const at = await scene(t);
  await at.minutes(61);
  for (const id of IDS) at.provider.failing.add(isinOf(id));
  await at.minutes(240);
  await at.stop();
  at.startAgain();
  await at.minutes(60);
  at.provider.failing.clear();
  await at.minutes(90);
  for (const id of IDS) assert.deepEqual(at.missing(id), []);
  assert.deepEqual(at.notifications(), []);
});
