import assert from 'node:assert/strict';
import type { PricedItem } from '../../../src/observe/events.ts';
import { testInstallation } from '../../support/connectors/installation.ts';
import type { RunningConnector } from '../../support/connectors/running-connector.ts';
import { priceViolations } from '../../support/ledgers/price-log.ts';
import {
  fencePrices,
  isinsOf,
  onceRight,
  pricesOnTopics,
  unansweredInputs,
} from '../../support/ledgers/prices-on-topics.ts';
import { unservedPrice } from '../../support/network/served-prices.ts';

const INSTRUMENTS = 1_500;

const batches = (connector: RunningConnector) => connector.fieldsOf('batchPriced');

const FAILING = {
  simulator: { instruments: INSTRUMENTS, seed: 11, keptPrices: 100, failingPricesShare: 0.01, maxBulkItems: 200 },
  prices: '{ maxItems: 500, kinds: { overview: { refreshInterval: 5s } } }',
};

testInstallation(
  'failing items, a refused isin, an unknown limit and slow answers leave every other price exact',
  FAILING,
  async (t, at) => {
    const { prefix, simulator, kafka } = at;
    const isins = isinsOf(simulator);
    const [refusedId, refusedIsin = ''] = [...isins].find(([, isin]) => isin !== '') ?? [];
    simulator.injectFaults([
      { match: 'bulk', count: 0, fault: { kind: 'bulk', how: 'refuse', isins: [refusedIsin] } },
      { match: 'bulk', count: 0, fault: { kind: 'delay', ms: 50 } },
    ]);
    // Once all instruments are there, the first batches are large.
    const sources = await at.start({ roles: 'sources' });
    await sources.event('walkCompleted');
    await sources.stop();
    const connector = await at.start({ roles: 'processor' });
    const learnt = () => Number(connector.fieldsOf('batchLimitLearnt').at(-1)?.maxItems ?? Number.NaN);
    await connector.event('batchPriced');
    const refreshed = () => batches(connector).reduce((sum, { inputs, items }) => sum + (inputs === 0 ? items : 0), 0);
    await onceRight(async () => {
      const { waiting, all } = await unansweredInputs(kafka, prefix);
      if (waiting > 0 || all < INSTRUMENTS) return `${waiting} of ${all} records wait`;
      if (refreshed() < INSTRUMENTS) return `${refreshed()} refreshes`;
      return learnt() <= 200 ? null : `learnt ${learnt()}`;
    });
    const failed = () => connector.fieldsOf('batchBisected').length + connector.fieldsOf('bulkAttemptFailed').length;
    const [failedBefore, refreshedBefore] = [failed(), refreshed()];
    await onceRight(() => (refreshed() < refreshedBefore + INSTRUMENTS ? `${refreshed()} refreshes` : null));
    assert.ok(
      failed() - failedBefore <= 21,
      `${failed() - failedBefore} more calls failed: the refused isin is not known`,
    );
    await connector.stop();
    await fencePrices(kafka, prefix);
    const log = await pricesOnTopics(kafka, prefix);

    assert.deepEqual(priceViolations(log), []);
    const priced = new Set(log.prices.map(({ id }) => id));
    const dead = log.results.filter(({ kind }) => kind === 'deadLetter');
    const failing = new Set(dead.map(({ id }) => id));
    const missing = [...isins.keys()].filter((id) => !priced.has(id) && !failing.has(id));
    assert.deepEqual(missing, []);
    assert.ok(failing.has(refusedId ?? ''), 'the refused one is a dead letter');
    assert.ok(failing.size > 5 && failing.size < INSTRUMENTS * 0.03, `${failing.size} fail`);
    // Refreshes that fail the same way again are not reported again.
    assert.equal(dead.length, failing.size);
    for (const { id, price } of log.prices) {
      assert.equal(price.isin, isins.get(id));
      assert.equal(unservedPrice(simulator, price), null);
    }
    assert.ok(learnt() > 50 && learnt() <= 200, `learnt ${learnt()}`);
    t.diagnostic(`${failedBefore} calls failed until the limit was learnt and the refused isin known`);
  },
);

const MISFITS = {
  simulator: { instruments: 400, seed: 11, keptPrices: 100 },
  prices: '{ maxBackoff: 1s, kinds: { overview: { refreshInterval: 2s } } }',
};

testInstallation(
  'answers with swapped, missing, added or foreign items are never used, and everybody is priced all the same',
  MISFITS,
  async (t, at) => {
    const { prefix, simulator, kafka } = at;
    const isins = isinsOf(simulator);
    const foreign = '{"responseIdentifier":{"isin":"XS0000000009"},"response":null,"errorResponse":null}';
    const hows = ['swap', 'drop', 'mismatch', 'null'] as const;
    simulator.injectFaults([
      ...hows.map((how) => ({ match: 'bulk' as const, rate: 0.08, fault: { kind: 'bulk' as const, how } })),
      { match: 'bulk', rate: 0.08, fault: { kind: 'edit', edits: [{ pointer: '/items/1', value: foreign }] } },
      { match: 'bulk', rate: 0.08, fault: { kind: 'edit', edits: [{ pointer: '/items/7', value: foreign }] } },
    ]);
    const connector = await at.start();
    await connector.event('batchPriced');
    const misfits = () =>
      connector.seen.flatMap(({ name, fields }) => {
        if (name === 'batchBisected') return String(fields.code);
        return name === 'bulkAttemptFailed' ? String((fields.err as { code?: string }).code) : [];
      });
    await onceRight(() => {
      const priced = batches(connector).flatMap(({ prices }) => prices.map((item: PricedItem) => item.instrumentId));
      const missing = isins.size - new Set(priced).size;
      if (missing > 0) return `${missing} have no price`;
      // Few instruments share few calls.
      if (misfits().length <= 5) return `only ${misfits().length} answers did not fit`;
      return priced.length < isins.size * 3 ? `only ${priced.length} prices` : null;
    });
    await connector.stop();
    await fencePrices(kafka, prefix);
    const log = await pricesOnTopics(kafka, prefix);
    assert.deepEqual(priceViolations(log), []);
    for (const { id, price } of log.prices) {
      assert.equal(price.isin, isins.get(id));
      assert.equal(unservedPrice(simulator, price), null);
    }
    t.diagnostic(`${log.prices.length} prices, ${misfits().length} answers that did not fit`);
    // On a slow machine a call may take longer than its limit as well.
    const others = [...new Set(misfits())].filter((code) => code !== 'PROVIDER_TIMEOUT');
    assert.deepEqual(others, ['BULK_MISMATCH']);
  },
);
