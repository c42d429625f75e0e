import assert from 'node:assert/strict';
import type { PricedItem } from '../../../src/observe/events.ts';
import { testInstallation } from '../../support/connectors/installation.ts';
import type { RunningConnector } from '../../support/connectors/running-connector.ts';
import { priceViolations } from '../../support/ledgers/price-log.ts';
import { fencePrices, isinsOf, onceRight, pricesOnTopics } from '../../support/ledgers/prices-on-topics.ts';
import { type BulkFate, startMarketProxy } from '../../support/network/market-proxy.ts';

const INSTRUMENTS = 300;
const ROUNDS = 2;
/** How long a call hangs until it is given up. */
const HANGING_MS = 3_000;
/** Calls that still hold the culprit and others while a batch of fifty is divided in four, and in four again. */
const REST_OF_DIVISION = 4;

function pricedOf(connector: RunningConnector): Map<string, number> {
  const times = new Map<string, number>();
  for (const { kind, prices } of connector.fieldsOf('batchPriced')) {
    if (kind !== 'overview') continue;
    for (const { isin } of prices as PricedItem[]) times.set(isin, (times.get(isin) ?? 0) + 1);
  }
  return times;
}

const SCENE = { simulator: { instruments: INSTRUMENTS, seed: 13 } };

testInstallation(
  'with daily prices refused and one instrument that hangs its calls, all others stay fresh and new ones are priced',
  SCENE,
  async (t, at) => {
    const { prefix, simulator, kafka } = at;
    let hanging = '';
    const proxy = await startMarketProxy(t, simulator.marketDataUrl, ({ isDaily, isins }) => {
      if (isDaily) return 403;
      // The first product that is asked for.
      hanging ||= isins[0] ?? '';
      return isins.includes(hanging) ? 'hang' : 'pass';
    });
    const more = `
marketData: { url: "${proxy.url}", requestsPerSecond: 1000, timeout: ${HANGING_MS}ms }
prices:
  maxBackoff: 5s
  kinds:
    overview: { enabled: true, refreshInterval: 2s }
    daily: { enabled: true, refreshInterval: 2s, lookBack: 10d }`;
    const connector = await at.start({ more });
    const allFresh = (count: number, rounds: number) => {
      const times = pricedOf(connector);
      const fresh = [...times.values()].filter((each) => each >= rounds).length;
      // A few of the simulated instruments have no isin, and one hangs.
      return fresh >= count ? null : `${fresh} of ${count} were priced ${rounds} times`;
    };
    const isins = new Set(isinsOf(simulator).values());
    await onceRight(() => allFresh(isins.size - 1, ROUNDS));
    const spoiltBefore = proxy.asked.filter((asked) => asked.isins.includes(hanging) && asked.isins.length > 1).length;

    const known = new Set(pricedOf(connector).keys());
    simulator.publish({ kind: 'newissue' });
    await onceRight(() =>
      [...pricedOf(connector).keys()].some((isin) => !known.has(isin)) ? null : 'the new issue has no price',
    );
    const before = Math.max(...pricedOf(connector).values());
    await onceRight(() => allFresh(isins.size - 1, before + 1));
    await connector.stop();

    assert.ok(!pricedOf(connector).has(hanging));
    const spoilt = proxy.asked.filter((asked) => asked.isins.includes(hanging) && asked.isins.length > 1).length;
    // The others may have been fresh twice before the division that finds it had come to its end.
    assert.ok(
      spoilt - spoiltBefore <= REST_OF_DIVISION,
      `${spoilt - spoiltBefore} more calls were spoilt: it is not known`,
    );
    const isDailyAsked = proxy.asked.some((asked) => asked.isDaily);
    assert.ok(isDailyAsked, 'daily prices are asked for');
    await fencePrices(kafka, prefix);
    assert.deepEqual(priceViolations(await pricesOnTopics(kafka, prefix)), []);
    t.diagnostic(`${spoilt} calls were spoilt of ${proxy.asked.length}`);
  },
);

/** How each of the first products that are asked for makes its whole call fail. */
const SPOILS: readonly BulkFate[] = [
  'reset',
  403,
  422,
  { status: 503, retryAfter: '0' },
  { status: 500, retryAfter: '1' },
];

testInstallation(
  'products that make their calls fail, each in its own way, leave all others fresh, and are priced once they no longer do',
  SCENE,
  async (t, at) => {
    const { prefix, simulator, kafka } = at;
    let isSpoiling = true;
    const spoilers = new Map<string, BulkFate>();
    const proxy = await startMarketProxy(t, simulator.marketDataUrl, ({ isins }) => {
      for (const isin of isins) if (spoilers.size < SPOILS.length) spoilers.set(isin, SPOILS[spoilers.size] ?? 'pass');
      const spoiler = isins.find((isin) => spoilers.has(isin));
      return (isSpoiling && spoiler !== undefined && spoilers.get(spoiler)) || 'pass';
    });
    const more = `
marketData: { url: "${proxy.url}", requestsPerSecond: 1000 }
prices: { maxBackoff: 2s, kinds: { overview: { enabled: true, refreshInterval: 2s } } }`;
    const connector = await at.start({ more });
    await connector.event('walkCompleted');
    const { fields: processor } = await connector.event('processorStarted');
    const failing = () => Object.keys(processor.freshness()?.failing ?? {});
    await onceRight(() => (failing().length >= SPOILS.length ? null : `only ${failing()} fail`));
    assert.deepEqual(failing().sort(), ['refused 403', 'refused 422', 'refused 500', 'refused 503', 'unanswered']);
    const before = pricedOf(connector);
    await onceRight(() => {
      const times = pricedOf(connector);
      // A few of the simulated instruments have no isin.
      const fresh = [...times].filter(([isin, count]) => count >= (before.get(isin) ?? 0) + ROUNDS).length;
      return fresh >= INSTRUMENTS * 0.95 ? null : `${fresh} were priced ${ROUNDS} times`;
    });
    for (const isin of spoilers.keys()) assert.ok(!pricedOf(connector).has(isin));
    isSpoiling = false;
    await onceRight(() => {
      const missing = [...spoilers.keys()].filter((isin) => !pricedOf(connector).has(isin));
      return missing.length === 0 ? null : `${missing.length} have no price`;
    });
    await connector.stop();
    await fencePrices(kafka, prefix);
    assert.deepEqual(priceViolations(await pricesOnTopics(kafka, prefix)), []);
    t.diagnostic(`${proxy.asked.length} calls`);
  },
);
