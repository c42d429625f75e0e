import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError, type ErrorCode } from '../../../src/errors.ts';
import type { ProcessorEvents } from '../../../src/observability/processor-events.ts';
import { BulkCaller } from '../../../src/processor/bulk-caller.ts';
import type { PriceAnswers, PriceQuestion } from '../../../src/processor/bulk-prices.ts';
import { skippingClock } from '../../support/manual-clock.ts';

const forever = new AbortController().signal;
const MINUTE_MS = 60_000;

function questions(count: number): PriceQuestion[] {
  return Array.from({ length: count }, (_, at) => ({ instrumentId: String(at), isin: `isin-${at}` }));
}

function priced(asked: readonly PriceQuestion[]): PriceAnswers {
  const answers = asked.map(({ isin }) => {
    const record = { key: Buffer.from(isin), value: Buffer.from(isin), digest: 0n };
    return { kind: 'prices' as const, records: [record], isQuotingPulled: null };
  });
  return { answers, errorsFlagDiffers: false, drift: 0, roundedNumbers: 0 };
}

function refusal(status: number): ConnectorError {
  const codes: Readonly<Record<number, ErrorCode>> = {
    400: 'PROVIDER_REFUSED',
    404: 'PROVIDER_REFUSED',
    401: 'PROVIDER_UNAUTHORIZED',
    403: 'PROVIDER_UNAUTHORIZED',
    413: 'PROVIDER_ASKS_FOR_LESS',
  };
  return new ConnectorError(codes[status] ?? 'PROVIDER_BUSY', `status ${status}`, { fields: { status } });
}

/** A provider that throws or answers, by what it is asked. */
function calling(options: {
  readonly refuse: (asked: readonly PriceQuestion[], call: number) => ConnectorError | null;
  readonly maxItems?: number;
  readonly concurrency?: number;
  readonly takesMs?: number;
}) {
  const clock = skippingClock();
  const seen: { readonly name: string; readonly fields: object }[] = [];
  const record = (name: string) => (fields: object) => void seen.push({ name, fields });
  const events: Pick<ProcessorEvents, 'batchBisected' | 'batchLimitLearnt' | 'bulkAttemptFailed'> = {
    batchBisected: record('batchBisected'),
    batchLimitLearnt: record('batchLimitLearnt'),
    bulkAttemptFailed: record('bulkAttemptFailed'),
  };
  const calls: number[] = [];
  let inFlight = 0;
  let mostInFlight = 0;
  const caller = new BulkCaller({
    prices: {
      async ask(_kind, asked) {
        calls.push(asked.length);
        inFlight += 1;
        mostInFlight = Math.max(mostInFlight, inFlight);
        await new Promise((resolve) => setImmediate(resolve));
        inFlight -= 1;
        const error = options.refuse(asked, calls.length);
        if (error !== null) throw error;
        return priced(asked);
      },
    },
    maxItems: options.maxItems ?? 1_000,
    concurrency: options.concurrency ?? 4,
    clock,
    random: () => 0.5,
    events,
  });
  return { caller, clock, calls, seen, mostInFlight: () => mostInFlight };
}

const has = (asked: readonly PriceQuestion[], ...isins: string[]) => asked.some(({ isin }) => isins.includes(isin));

for (const [why, error, status] of [
  ['gets the whole call refused', refusal(400), 400],
  ['gets an answer that does not fit', new ConnectorError('BULK_MISMATCH', 'it has other items'), null],
] as const) {
  test(`one item of a thousand that ${why} is found with twenty more calls; all others are priced`, async () => {
    const { caller, calls } = calling({ refuse: (asked) => (has(asked, 'isin-618') ? error : null) });
    const { outcomes, calls: counted } = await caller.ask('overview', questions(1_000), forever);
    assert.equal(counted, calls.length);
    assert.ok(calls.length <= 21, `${calls.length} calls`);
    for (const [at, outcome] of outcomes.entries()) {
      if (at === 618) assert.deepEqual(outcome, { kind: 'refused', status });
      else assert.equal(outcome.kind === 'prices' && String(outcome.records[0]?.value), `isin-${at}`);
    }
    // Nothing was learnt about how much may be asked for: it was that one item.
    assert.equal(caller.maxItems('overview'), 1_000);
  });
}

for (const status of [400, 413]) {
  test(`the largest batch of a provider that refuses more than 200 with ${status} is learnt once`, async () => {
    const { caller, calls, seen, clock } = calling({
      refuse: (asked) => (asked.length > 200 ? refusal(status) : null),
      maxItems: 500,
    });
    const { outcomes } = await caller.ask('overview', questions(500), forever);
    assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
    assert.equal(caller.maxItems('overview'), 125);
    assert.deepEqual(
      seen.filter(({ name }) => name === 'batchLimitLearnt').map(({ fields }) => fields),
      [{ kind: 'overview', maxItems: 125 }],
    );
    assert.equal(caller.maxItems('daily'), 500);
    calls.length = 0;
    await caller.ask('overview', questions(500), forever);
    assert.deepEqual(calls, [125, 125, 125, 125]);
    await clock.sleep(61 * MINUTE_MS);
    assert.equal(caller.maxItems('overview'), 500, 'the limit is tried without again');
  });
}

test('a bad item is found beneath an unknown limit as well, and the limit too', async () => {
  const { caller, calls } = calling({
    refuse: (asked) => (asked.length > 200 || has(asked, 'isin-3') ? refusal(400) : null),
    maxItems: 500,
  });
  const { outcomes } = await caller.ask('overview', questions(500), forever);
  assert.deepEqual(
    outcomes.flatMap(({ kind }, at) => (kind === 'prices' ? [] : [at])),
    [3],
  );
  assert.equal(caller.maxItems('overview'), 125);
  assert.ok(calls.length < 30, `${calls.length} calls`);
});

for (const status of [401, 403, 404, 408, 429]) {
  test(`a call answered with ${status} is repeated as it was, however often`, async () => {
    const { caller, calls } = calling({ refuse: (_, call) => (call <= 30 ? refusal(status) : null) });
    const { outcomes } = await caller.ask('overview', questions(100), forever);
    assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
    assert.deepEqual(new Set(calls), new Set([100]));
  });
}

for (const code of ['TOKEN_FAILED', 'REGISTRY_REFUSED'] as const) {
  test(`${code} with the status of a refusal is waited for, and nobody is blamed`, async () => {
    const error = new ConnectorError(code, 'status 400', { fields: { status: 400 } });
    const { caller, calls } = calling({ refuse: (_, call) => (call <= 5 ? error : null) });
    const { outcomes } = await caller.ask('overview', questions(100), forever);
    assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
    assert.deepEqual(
      calls,
      Array.from({ length: 6 }, () => 100),
    );
  });
}

test('a server that fails for everyone is waited for, and nobody is blamed', async () => {
  const { caller, calls, clock } = calling({ refuse: (_, call) => (call <= 40 ? refusal(503) : null) });
  const startedMs = clock.monotonicMs();
  const { outcomes } = await caller.ask('overview', questions(100), forever);
  assert.ok(clock.monotonicMs() - startedMs > 5 * MINUTE_MS);
  assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
  assert.deepEqual(new Set(calls), new Set([100]));
});

for (const [why, error, status] of [
  ['fails', refusal(500), 500],
  ['gets no answer in time', new ConnectorError('PROVIDER_TIMEOUT', 'no answer'), null],
  ['gets too long an answer', new ConnectorError('BODY_TOO_LARGE', 'too large'), null],
] as const) {
  test(`an item that ${why} for five minutes while others succeed is found, and the others have their prices`, async () => {
    const { caller, calls, clock, seen } = calling({ refuse: (asked) => (has(asked, 'isin-7') ? error : null) });
    const startedMs = clock.monotonicMs();
    let ended = false;
    const bad = caller.ask('overview', questions(16), forever);
    const good = (async () => {
      while (!ended && clock.monotonicMs() - startedMs < 60 * MINUTE_MS) {
        await caller.ask('overview', [{ instrumentId: '99', isin: 'good' }], forever);
        await clock.sleep(1_000);
      }
    })();
    void bad.finally(() => {
      ended = true;
    });
    await good;
    assert.ok(ended, 'it is waited for without end');
    const { outcomes } = await bad;
    assert.deepEqual(
      outcomes.flatMap((outcome, at) => (outcome.kind === 'prices' ? [] : [[at, outcome]])),
      [[7, { kind: 'refused', status }]],
    );
    const failed = seen.filter(({ name }) => name === 'bulkAttemptFailed');
    assert.ok(failed.length > 3, 'it is repeated first');
    assert.ok(calls.includes(8));
  });
}

test('a call that takes too long is asked for in smaller parts; an item alone is repeated', async () => {
  const slow = new ConnectorError('PROVIDER_TIMEOUT', 'no answer');
  const { caller, calls } = calling({ refuse: (asked, call) => (asked.length > 4 || call < 8 ? slow : null) });
  const { outcomes } = await caller.ask('overview', questions(16), forever);
  assert.ok(outcomes.every(({ kind }) => kind === 'prices'));
  assert.ok(calls.includes(1));
  assert.equal(caller.maxItems('overview'), 1_000, 'slowness passes');
});

test('a body that is too large is asked for in halves, from then on too', async () => {
  const large = new ConnectorError('BODY_TOO_LARGE', 'too large');
  const { caller } = calling({ refuse: (asked) => (asked.length > 60 ? large : null), maxItems: 100 });
  await caller.ask('daily', questions(100), forever);
  assert.equal(caller.maxItems('daily'), 50);
});

test('when all is refused, it is rather our requests than the items: few are blamed a minute', async () => {
  const { caller, calls, clock } = calling({ refuse: () => refusal(400), maxItems: 500 });
  const startedMs = clock.monotonicMs();
  await caller.ask('overview', questions(100), forever);
  assert.ok(clock.monotonicMs() - startedMs > 30 * MINUTE_MS, 'it is slow');
  assert.ok(calls.length < 400, `${calls.length} calls`);
});

test('when no answer fits, every item has its outcome after few calls and without a pause', async () => {
  const misfit = new ConnectorError('BULK_MISMATCH', 'it has other items');
  const { caller, calls, clock } = calling({ refuse: () => misfit, maxItems: 500 });
  const startedMs = clock.monotonicMs();
  for (const count of [119, 500]) {
    calls.length = 0;
    const { outcomes } = await caller.ask('overview', questions(count), forever);
    assert.deepEqual(
      outcomes,
      Array.from({ length: count }, () => ({ kind: 'refused', status: null })),
    );
    assert.ok(calls.length <= 70, `${calls.length} calls`);
  }
  assert.ok(clock.monotonicMs() - startedMs < MINUTE_MS);
});

test('many items whose answers never fit cost only their neighbours in a row anything', async () => {
  const misfit = new ConnectorError('BULK_MISMATCH', 'it has other items');
  const bad = Array.from({ length: 19 }, (_, at) => `isin-${at}`);
  const { caller } = calling({ refuse: (asked) => (has(asked, ...bad, 'isin-300') ? misfit : null) });
  const { outcomes } = await caller.ask('overview', questions(500), forever);
  assert.equal(outcomes.filter(({ kind }) => kind === 'prices').length, 480);
});

test('no more calls are in flight than the settings say', async () => {
  const { caller, mostInFlight } = calling({ refuse: () => null, concurrency: 3 });
  await Promise.all(Array.from({ length: 20 }, () => caller.ask('overview', questions(2), forever)));
  assert.equal(mostInFlight(), 3);
});

test('what no repetition mends ends the call, and so does the signal', async () => {
  const incompatible = new ConnectorError('SCHEMA_INCOMPATIBLE', 'not compatible');
  const { caller } = calling({ refuse: () => incompatible });
  await assert.rejects(caller.ask('overview', questions(4), forever), incompatible);
  const stopping = new AbortController();
  const { caller: other } = calling({
    refuse() {
      stopping.abort(new Error('stopped'));
      return refusal(503);
    },
  });
  await assert.rejects(other.ask('overview', questions(4), stopping.signal), /stopped/);
});
