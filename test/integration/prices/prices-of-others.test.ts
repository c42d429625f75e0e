import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PricedItem } from '../../../src/observability/processor-events.ts';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import { type RunningConnector, startConnector } from '../../support/connectors/running-connector.ts';
import { kafkaOrSkip } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';
import { priceViolations } from '../../support/ledgers/price-log.ts';
import { fencePrices, onceRight, pricesOnTopics } from '../../support/ledgers/prices-on-topics.ts';
import { startMarketProxy } from '../../support/network/market-proxy.ts';

const INSTRUMENTS = 300;
const ROUNDS = 2;
/** How long a call hangs until it is given up. */
const HANGING_MS = 10_000;
/** Calls that still hold the culprit and others while a batch of fifty is divided in four, and in four again. */
const REST_OF_DIVISION = 4;

function pricedOf(connector: RunningConnector): Map<string, number> {
  const times = new Map<string, number>();
  for (const { name, fields } of connector.seen) {
    if (name !== 'batchPriced' || fields.kind !== 'overview') continue;
    for (const { isin } of fields.prices as PricedItem[]) times.set(isin, (times.get(isin) ?? 0) + 1);
  }
  return times;
}

test('with daily prices refused and one instrument that hangs its calls, all others stay fresh and new ones are priced', async (t) => {
  const stack = await stackOrSkip(t);
  if (!stack) return;
  const prefix = uniquePrefix('others');
  const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 13, port: 0 });
  t.after(() => simulator.close());
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!kafka) return;
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
  const connector = await startConnector(t, { stack, simulator, prefix, more });
  const allFresh = (count: number, rounds: number) => {
    const times = pricedOf(connector);
    const fresh = [...times.values()].filter((each) => each >= rounds).length;
    // A few of the simulated instruments have no isin, and one hangs.
    return fresh >= count ? null : `${fresh} of ${count} were priced ${rounds} times`;
  };
  const isins = new Set(
    [...simulator.ledger.instruments()].flatMap(({ text }) => {
      const { identifiers } = JSON.parse(text) as { identifiers: { type: string; value: string }[] };
      return identifiers.find(({ type }) => type.toLowerCase() === 'isin')?.value ?? [];
    }),
  );
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
  assert.ok(
    proxy.asked.some((asked) => asked.isDaily),
    'daily prices are asked for',
  );
  await fencePrices(kafka, prefix);
  assert.deepEqual(priceViolations(await pricesOnTopics(kafka, prefix)), []);
  t.diagnostic(`${spoilt} calls were spoilt of ${proxy.asked.length}`);
});
