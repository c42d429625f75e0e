import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import type { BulkPrices, PriceResponse } from '../../../src/prices/bulk-prices.ts';
import { problem } from '../../support/priced-core.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { memoryPrices, POISON, priceLogOf, TOPICS } from './memory-prices.ts';

const PATIENCE_MS = 300_000;

/** A provider that gives each isin what `answers` holds for it, and a price to all others; a price's value is its isin. */
function providerOf(answers: ReadonlyMap<string, PriceResponse>) {
  const asked = new Map<string, number>();
  const down = { isDown: false };
  const prices: BulkPrices = {
    async ask(_kind, questions) {
      if (down.isDown) throw new ConnectorError('PROVIDER_UNAUTHORIZED', 'refused', { fields: { status: 403 } });
      const given = questions.map(({ instrumentId, isin }): PriceResponse => {
        asked.set(isin, (asked.get(isin) ?? 0) + 1);
        const record = { key: Buffer.from(instrumentId), value: Buffer.from(isin), digest: 0n };
        return answers.get(isin) ?? { kind: 'prices', records: [record], isQuotingPulled: null };
      });
      return { answers: given, drift: 0, roundedNumbers: 0 };
    },
  };
  return { prices, down, asked: (isin: string) => asked.get(isin) ?? 0 };
}

/** Until nothing is thrown any more. */
const once = (check: () => void) =>
  eventually(
    'what is asserted',
    () => {
      try {
        check();
        return null;
      } catch (error) {
        return String(error);
      }
    },
    (wrong) => wrong === null,
    PATIENCE_MS,
  );

async function begin(t: TestContext, answerWithinMs = Number.POSITIVE_INFINITY) {
  const { broker, write: writeAll, start: join } = await memoryPrices(t);
  const answers = new Map<string, PriceResponse>();
  const provider = providerOf(answers);
  const start = () => join({ prices: provider.prices, answerWithinMs });
  /** What the topic of prices has held for an id: values, or the reason and the problem of a tombstone. */
  const shown = (id: string) =>
    Array.from({ length: TOPICS.prices.partitions }, (_, partition) => partition)
      .flatMap((partition) => broker.readCommitted(TOPICS.prices.name, partition))
      .filter(({ key }) => String(key) === id)
      .map(({ value, headers }) =>
        value === null ? [headers['spc-reason'], headers['spc-problem']].filter(Boolean).join(': ') : String(value),
      );
  const last = (id: string) => shown(id).at(-1);
  const write = (id: string, value: string | null) => writeAll([id, value]);
  return { answers, provider, start, shown, last, write, broker };
}

test('the price of an earlier isin goes when the new one gets none, whatever the provider answers', async (t) => {
  const { answers, start, last, write, broker } = await begin(t);
  for (const [id, status] of [
    ['1', 404],
    ['2', 500],
    ['3', null],
  ] as const) {
    answers.set(`new-${id}`, problem(status));
    await write(id, `old-${id}`);
  }
  const first = start();
  await once(() => ['1', '2', '3'].forEach((id) => void assert.equal(last(id), `old-${id}`)));
  await first.stop();
  // Over a restart too: what is new is only known from the topic then.
  for (const id of ['1', '2', '3']) await write(id, `new-${id}`);
  start();
  await once(() => {
    assert.equal(last('1'), 'isin-changed: status 404');
    assert.equal(last('2'), 'isin-changed: status 500');
    assert.equal(last('3'), 'isin-changed: none');
    assert.deepEqual(priceLogOf(broker).violations(true), []);
  });
  answers.delete('new-2');
  await once(() => assert.equal(last('2'), 'new-2'));
});

test('that the provider has no price is shown once, and a failure that may pass takes no price away', async (t) => {
  const { answers, provider, start, shown, last, write } = await begin(t);
  await write('1', 'isin-1');
  start();
  await once(() => assert.equal(last('1'), 'isin-1'));
  const triesOf = async (answer: PriceResponse) => {
    const before = provider.asked('isin-1');
    answers.set('isin-1', answer);
    await once(() => assert.ok(provider.asked('isin-1') > before + 4));
  };
  await triesOf(problem(500));
  assert.equal(last('1'), 'isin-1');
  await triesOf(problem(404));
  await once(() => assert.equal(last('1'), 'no-price: status 404'));
  await triesOf(problem(404));
  await triesOf(problem(null));
  assert.equal(shown('1').filter((each) => each.startsWith('no-price')).length, 1);
  answers.delete('isin-1');
  await once(() => assert.equal(last('1'), 'isin-1'));
  // Neither a price nor an error: only twice in a row is that an answer.
  answers.set('isin-1', problem(null));
  await once(() => assert.equal(last('1'), 'no-price: none'));
});

test('of an instrument that never had a price it is shown that there is none', async (t) => {
  const { answers, start, shown, write } = await begin(t);
  answers.set('isin-1', problem(404));
  await write('1', 'isin-1');
  await write('2', '');
  await write('3', null);
  start();
  await once(() => {
    assert.deepEqual(shown('1'), ['no-price: status 404']);
    assert.deepEqual(shown('2'), ['no-isin']);
    assert.deepEqual(shown('3'), ['gone']);
  });
});

test('the price of an earlier isin goes too while the provider answers nothing at all, and of what became unreadable', async (t) => {
  const { provider, start, last, shown, write, broker } = await begin(t, 30_000);
  for (const id of ['1', '2', '3', '4']) await write(id, `old-${id}`);
  const first = start();
  await once(() => ['1', '2', '3', '4'].forEach((id) => void assert.equal(last(id), `old-${id}`)));
  provider.down.isDown = true;
  await write('1', 'new-1');
  // Its data change, and its isin does not.
  await write('2', 'old-2');
  await write('3', POISON);
  await once(() => {
    assert.equal(last('1'), 'isin-changed: unanswered');
    assert.equal(last('3'), 'unreadable');
  });
  assert.equal(last('2'), 'old-2', 'a price that may still be right stays');
  await first.stop();
  // Over a restart too.
  await write('4', 'new-4');
  await write('4', 'newer-4');
  start();
  await once(() => assert.equal(last('4'), 'isin-changed: unanswered'));
  provider.down.isDown = false;
  await once(() => {
    assert.equal(last('1'), 'new-1');
    assert.equal(last('4'), 'newer-4');
  });
  const changes = shown('1').filter((each, at, all) => each !== all[at - 1]);
  assert.deepEqual(changes.slice(-3), ['old-1', 'isin-changed: unanswered', 'new-1'], 'each once, in this order');
  assert.equal(
    priceLogOf(broker)
      .violations(true)
      .filter((what) => !what.includes('a record of 2, is lost')).length,
    0,
  );
});

test('records are answered, and read on, while the provider refuses the prices that answer them', async (t) => {
  const { provider, start, last, shown, write, broker } = await begin(t, 30_000);
  const ids = Array.from({ length: 150 }, (_, at) => String(100 + at));
  provider.down.isDown = true;
  for (const id of ids) await write(id, `isin-${id}`);
  const first = start();
  await once(() => assert.deepEqual(priceLogOf(broker).violations(true), []));
  for (const id of ids) assert.deepEqual(shown(id), ['no-price: unanswered']);
  await first.stop();
  // What is owed is in no memory: after a restart it is asked for all the same.
  start();
  provider.down.isDown = false;
  await once(() => {
    for (const id of ids) assert.equal(last(id), `isin-${id}`);
  });
  assert.deepEqual(priceLogOf(broker).violations(true), []);
});
