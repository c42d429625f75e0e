import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createSimulator, type Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { PricedItem } from '../../../src/observe/events.ts';
import { type RunningConnector, startConnector } from '../../support/connectors/running-connector.ts';
import { kafkaOrSkip } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';
import { priceViolations } from '../../support/ledgers/price-log.ts';
import { fencePrices, onceRight, pricesOnTopics } from '../../support/ledgers/prices-on-topics.ts';
import { startMarketProxy } from '../../support/network/market-proxy.ts';

/** Some of them have no isin. */
const INSTRUMENTS = 20;
/** More than a partition reads ahead of what is answered: four requests of one instrument each. */
const NEW_ISSUES = 60;
const NEW_ISIN = 'CH9999999999';

const identifiersOf = (text: string) => {
  const { identifiers } = JSON.parse(text) as { identifiers: { type: string; value: string }[] };
  return identifiers.find(({ type }) => type.toLowerCase() === 'isin')?.value ?? null;
};

/** The isins that have a price of a kind. */
function pricedAs(connector: RunningConnector, kind: string): Set<string> {
  const batches = connector.seen.filter(({ name, fields }) => name === 'batchPriced' && fields.kind === kind);
  return new Set(batches.flatMap(({ fields }) => (fields.prices as PricedItem[]).map(({ isin }) => isin)));
}

function missing(simulator: Simulator, connector: RunningConnector, kind: string): string | null {
  const priced = pricedAs(connector, kind);
  const isins = [...simulator.ledger.instruments()].flatMap(({ text }) => identifiersOf(text) ?? []);
  const without = isins.filter((isin) => !priced.has(isin) && isin !== NEW_ISIN);
  return without.length === 0 ? null : `${without.length} of ${isins.length} have no price of the kind ${kind}`;
}

async function begin(t: TestContext) {
  const stack = await stackOrSkip(t);
  const kafka = (await kafkaOrSkip(t))?.connect();
  if (!stack || !kafka) return undefined;
  const prefix = uniquePrefix('refused');
  const simulator = await createSimulator({ instruments: INSTRUMENTS, seed: 17, port: 0 });
  t.after(() => simulator.close());
  const refused = { isOverview: false };
  const decide = ({ isDaily }: { readonly isDaily: boolean }) => (refused.isOverview && !isDaily ? 403 : 'pass');
  const proxy = await startMarketProxy(t, simulator.marketDataUrl, decide);
  const more = `
marketData: { url: "${proxy.url}", requestsPerSecond: 1000 }
prices:
  maxItems: 1
  maxBackoff: 2s
  kinds:
    overview: { enabled: true, refreshInterval: 5s }
    daily: { enabled: true, refreshInterval: 5s, lookBack: 10d }`;
  // The shortest waits between attempts: the refusal ends after half a minute, when one of the next is near.
  const overrides = { random: () => 0 };
  const connector = await startConnector(t, { stack, simulator, prefix, more, overrides });
  return { prefix, simulator, kafka, refused, connector };
}

test('while the latest prices are refused, new issues get the other kinds, and no price of an earlier isin stays', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const { prefix, simulator, kafka, refused, connector } = begun;
  await onceRight(() => missing(simulator, connector, 'overview'));
  refused.isOverview = true;
  const [changed] = [...simulator.ledger.instruments()].filter(({ text }) => identifiersOf(text) !== null);
  assert.ok(changed);
  const { id, text } = changed;
  const instrument = text.replace(`"${identifiersOf(text)}"`, `"${NEW_ISIN}"`);
  simulator.publish({ kind: 'replace', id, instrument });
  for (let at = 0; at < NEW_ISSUES; at++) simulator.publish({ kind: 'newissue' });

  await onceRight(() => missing(simulator, connector, 'daily'));
  const lastOf = async (wanted: string) =>
    (await pricesOnTopics(kafka, prefix)).results.findLast((one) => one.id === wanted && one.kind !== 'deadLetter');
  await onceRight(async () => {
    const last = await lastOf(id);
    return last?.kind === 'tombstone' ? null : `the topic shows the price of ${last?.isin} for ${id}`;
  });

  refused.isOverview = false;
  await onceRight(() => missing(simulator, connector, 'overview'));
  await connector.stop();
  await fencePrices(kafka, prefix);
  assert.deepEqual(priceViolations(await pricesOnTopics(kafka, prefix)), []);
});
