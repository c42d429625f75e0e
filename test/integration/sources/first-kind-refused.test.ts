import assert from 'node:assert/strict';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { PricedItem } from '../../../src/observe/events.ts';
import { testInstallation } from '../../support/connectors/installation.ts';
import type { RunningConnector } from '../../support/connectors/running-connector.ts';
import { priceViolations } from '../../support/ledgers/price-log.ts';
import { fencePrices, isinsOf, onceRight, pricesOnTopics } from '../../support/ledgers/prices-on-topics.ts';
import { startMarketProxy } from '../../support/network/market-proxy.ts';

/** Some of them have no isin. */
const INSTRUMENTS = 20;
/** More than a partition reads ahead of what is answered: four requests of one instrument each. */
const NEW_ISSUES = 60;
const NEW_ISIN = 'CH9999999999';

function pricedAs(connector: RunningConnector, kind: string): Set<string> {
  const batches = connector.fieldsOf('batchPriced').filter((batch) => batch.kind === kind);
  return new Set(batches.flatMap(({ prices }) => (prices as PricedItem[]).map(({ isin }) => isin)));
}

function missing(simulator: Simulator, connector: RunningConnector, kind: string): string | null {
  const priced = pricedAs(connector, kind);
  const isins = [...isinsOf(simulator).values()];
  const without = isins.filter((isin) => !priced.has(isin) && isin !== NEW_ISIN);
  return without.length === 0 ? null : `${without.length} of ${isins.length} have no price of the kind ${kind}`;
}

const TITLE =
  'while the latest prices are refused, new issues get the other kinds, and no price of an earlier isin stays';

testInstallation(TITLE, { simulator: { instruments: INSTRUMENTS, seed: 17 } }, async (t, at) => {
  const { prefix, simulator, kafka } = at;
  let isRefused = false;
  const decide = ({ isDaily }: { readonly isDaily: boolean }) => (isRefused && !isDaily ? 403 : 'pass');
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
  const connector = await at.start({ more, overrides: { random: () => 0 } });
  await onceRight(() => missing(simulator, connector, 'overview'));
  isRefused = true;
  const [[id, isin] = assert.fail()] = isinsOf(simulator);
  const { text = '' } = [...simulator.ledger.instruments()].find((one) => one.id === id) ?? {};
  const instrument = text.replace(`"${isin}"`, `"${NEW_ISIN}"`);
  simulator.publish({ kind: 'replace', id, instrument });
  for (let at = 0; at < NEW_ISSUES; at++) simulator.publish({ kind: 'newissue' });

  await onceRight(() => missing(simulator, connector, 'daily'));
  const lastOf = async (wanted: string) =>
    (await pricesOnTopics(kafka, prefix)).results.findLast((one) => one.id === wanted && one.kind !== 'deadLetter');
  await onceRight(async () => {
    const last = await lastOf(id);
    return last?.kind === 'tombstone' ? null : `the topic shows the price of ${last?.isin} for ${id}`;
  });

  isRefused = false;
  await onceRight(() => missing(simulator, connector, 'overview'));
  await connector.stop();
  await fencePrices(kafka, prefix);
  assert.deepEqual(priceViolations(await pricesOnTopics(kafka, prefix)), []);
});
