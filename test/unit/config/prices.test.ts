import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accepted, refused } from './settings-text.ts';

const MARKET = { marketData: 'marketData: { url: https://provider.example/market }' };

test('without an address of the market data interface there are no prices, and nothing is missing', async () => {
  const { marketData, prices } = await accepted({});
  assert.deepEqual([marketData, prices.enabled], [null, false]);
});

test('the address alone is enough: latest prices of the instruments source, with the same account', async () => {
  const { marketData, prices, referenceData } = await accepted({
    ...MARKET,
    sources: 'sources: [{ name: c, type: pre-trade-checks }, { name: a, type: instruments }]',
  });
  assert.equal(marketData?.url, 'https://provider.example/market');
  assert.deepEqual(marketData?.auth, referenceData.auth);
  const { overview, daily, intraday } = prices.kinds;
  assert.deepEqual([prices.enabled, prices.from], [true, ['a']]);
  assert.deepEqual([overview.enabled, daily.enabled, intraday.enabled], [true, false, false]);
  assert.deepEqual([overview.refreshIntervalMs, prices.lingerMs, prices.maxBackoffMs], [60_000, 250, 3_600_000]);
});

test('prices are off when they are switched off, when no kind is left, or when there is nothing to price', async () => {
  for (const rest of [
    'prices: { enabled: false }',
    'prices: { kinds: { overview: { enabled: false } } }',
    'sources: [{ name: c, type: pre-trade-checks }]',
  ]) {
    assert.equal((await accepted({ ...MARKET, rest })).prices.enabled, false, rest);
  }
});

test('the account and the rules are those of the reference data interface, unless others are given', async () => {
  const own = 'url: https://m.example, auth: { type: bearer, token: abcdef }, assumedZone: Europe/Zurich';
  const { marketData } = await accepted({ marketData: `marketData: { ${own} }` });
  assert.deepEqual([marketData?.auth.type, marketData?.assumedZone], ['bearer', 'Europe/Zurich']);
  const auth = 'auth: { type: oauth2, tokenUrl: http://a.example, clientId: me, clientSecret: abcdef }';
  const referenceData = `referenceData: { url: https://a.example, allowHttp: true, ${auth} }`;
  const inherited = await accepted({ ...MARKET, referenceData });
  assert.equal(inherited.marketData?.allowHttp, true, 'also for the token address of this account');
  const says = /marketData\.url: .*plain http.*marketData\.allowHttp/;
  await refused({ marketData: 'marketData: { url: http://m.example }' }, says);
});

test('a look-back shorter than the interval or a window is refused with the least that would do', async () => {
  const kinds = (text: string) => ({ ...MARKET, prices: `prices: { kinds: { ${text} } }` });
  for (const [text, found] of [
    ['intraday: { refreshInterval: 1d }', /intraday\.lookBack: is 1h; expected at least 1d/],
    ['intraday: { lookBack: 59m, interval: [Minute_5, Hour_1] }', /intraday\.lookBack: is 59m; expected at least 1h/],
    ['intraday: { lookBack: 1m }', /intraday\.lookBack: is 1m; expected at least 5m/],
    ['daily: { lookBack: 1m }', /daily\.lookBack: is 1m; expected at least 1d/],
    ['intraday: { catchUp: 4m }', /intraday\.catchUp: is 4m; expected at least refreshInterval, 5m/],
  ] as const)
    await refused(kinds(text), found);
  await accepted(kinds('daily: { lookBack: 1d }, intraday: { lookBack: 1h, interval: Hour_1, refreshInterval: 1h }'));
});

test('a legal country is any text that is not empty', async () => {
  const source = (country: string) => ({
    sources: `sources: [{ name: a, type: instruments, legalCountry: ${country} }]`,
  });
  for (const country of ['CH', 'CHE', 'Schweiz / Suisse', '"756"', 'x'.repeat(100)]) await accepted(source(country));
  for (const country of ['"a\\n"', 'x'.repeat(101)])
    await refused(source(country), /legalCountry: .*expected a country/);
});

test('what is asked for is checked by name', async () => {
  const kinds = (text: string) => ({ prices: `prices: { kinds: { ${text} } }` });
  const says = /fields\[1\]: found the string "LastOpening"; expected one of/;
  await refused(kinds('overview: { fields: [lastprice, LastOpening] }'), says);
  const list = /overview\.fields: found the string "Last"; expected a list; each entry: one of /;
  await refused(kinds('overview: { fields: Last }'), list);
  const means = /daily\.fields: found the string "BidAsk"; expected one or several of Close, /;
  await refused(kinds('daily: { fields: BidAsk }'), means);
  await refused(kinds('intraday: { interval: Minute_1 }'), /expected one or several of Minute_5, Hour_1/);
  await refused(kinds('daily: { lookBack: 401d }'), /daily\.lookBack: /);
  await refused({ prices: 'prices: { from: [other] }' }, /prices\.from\[0\]: names "other", which is not a source/);
  await refused({ marketData: 'marketData: { url: https://m.example, assumedZone: Europe/Zurigo }' }, /time zone/);
  await refused({ topics: 'topics: { names: { prices: states } }' }, /states|prices/);
});

const instruments = (name: string, rest = '') =>
  `{ name: ${name}, type: instruments, topics: { instruments: ${name}, instrument-events: ${name}-events }${rest} }`;
const priced = (from: string, ...sources: readonly string[]) => ({
  ...MARKET,
  sources: `sources: [${sources.join(', ')}]`,
  prices: `prices: { from: [${from}] }`,
});

test('of several instruments sources it must be said whose instruments are priced', async () => {
  const [all, my] = [instruments('all'), instruments('my', ', scope: my')];
  await refused(priced('', all, my), /prices\.from: is empty, but there are 2 instruments sources; use .*"all", "my"/);
  assert.deepEqual((await accepted(priced('all', all, my))).prices.from, ['all']);
  assert.deepEqual((await accepted(priced('my, my', all, my))).prices.from, ['my', 'my']);
  const without = await accepted({ ...priced('', all, my), marketData: '' });
  assert.equal(without.prices.enabled, false, 'without prices it does not matter');
});

test('two sources that may hold the same instrument never price into one topic', async () => {
  const advice = 'give each source a different legalCountry, or name only one source';
  const overlapping: readonly (readonly [string, string])[] = [
    ['', ''],
    ['', ', scope: my'],
    ['', ', legalCountry: CH'],
    [', legalCountry: CH', ''],
    [', legalCountry: CH', ', scope: my, legalCountry: ch'],
    [', legalCountry: CH', ', legalCountry: CHE'],
  ];
  for (const [one, other] of overlapping) {
    const reason = new RegExp(`prices\\.from\\[1\\]: names "b", which may have the same instruments as "a": ${advice}`);
    await refused(priced('a, b', instruments('a', one), instruments('b', other)), reason);
  }
  const apart = priced('a, b', instruments('a', ', legalCountry: CH'), instruments('b', ', legalCountry: DE'));
  assert.deepEqual((await accepted(apart)).prices.from, ['a', 'b']);
});
