import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createStandingClock } from '../../../src/dev/simulator/clock.ts';
import type { SimulatorOptions } from '../../../src/dev/simulator/options.ts';
import { providerScene, runWith } from './shell/terminal.ts';

/** A Wednesday. */
const NOW_MS = Date.UTC(2026, 0, 7, 12, 2, 30);

async function scene(t: TestContext, options: SimulatorOptions = {}) {
  const parts = await providerScene(t, { instruments: 40, clock: createStandingClock(NOW_MS), ...options });
  const { ledger } = parts.simulator;
  const isins = [...ledger.instruments()].map(({ text }) => String(JSON.parse(text).identifiers[0].value));
  const look = (...args: string[]) => parts.spconnect('lookup', 'price', ...args);
  /** What the provider served for an isin last. */
  const served = (isin: string) => ledger.pricesOf(isin)?.last.at(-1)?.text ?? '';
  return { ...parts, isins, isin: isins[0] ?? '', look, served };
}

const numbersIn = (text: string) => [...text.matchAll(/[:\s](-?\d+\.\d+)(?=[,}\s])/g)].map((match) => match[1]);

for (const args of [
  [],
  ['--kind', 'daily', '--from', '2026-01-01'],
  ['--kind', 'intraday', '--interval', 'Hour_1', '--fields', 'OHLC'],
]) {
  test(`prices are printed as JSON with the digits that were sent: ${args.join(' ') || 'overview'}`, async (t) => {
    const { look, served, isins } = await scene(t);
    for (const isin of isins.slice(0, 16)) {
      const { code, stdout, stderr } = await look(isin, ...args, '--output', 'json');
      assert.deepEqual([code, stderr], [0, '']);
      assert.deepEqual(JSON.parse(stdout), JSON.parse(served(isin)));
      const numbers = numbersIn(stdout);
      assert.ok(numbers.length > 0);
      assert.deepEqual(numbers, numbersIn(served(isin)));
    }
  });
}

test('a range without prices is said to be one', async (t) => {
  const { look, isin } = await scene(t);
  const args = ['--kind', 'daily', '--from', '2026-01-03', '--to', '2026-01-04'];
  const { code, stdout, stderr } = await look(isin, ...args);
  assert.deepEqual([code, stdout, stderr], [0, '', 'The provider has no prices of this product in this range.\n']);
});

test('an overview is a line for each value that there is', async (t) => {
  const { look, isin } = await scene(t);
  const { code, stdout } = await look(isin, '--fields', 'LastOpen,LastClose');
  assert.equal(code, 0);
  const shape = /^lastOpen +\d+\.\d+\nlastOpenObservedAtTimestamp +2026-01-07T00:00:00\S*\nlastClose +\d+\.\d+\n/;
  assert.match(stdout, shape);
});

test('a series is a table with a line for each window and a column for each price', async (t) => {
  const { look, isin } = await scene(t);
  const args = ['--kind', 'daily', '--from', '2026-01-02', '--to', '2026-01-06', '--fields', 'LastBidAsk'];
  const { stdout } = await look(isin, ...args);
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  assert.deepEqual(lines[0], ['date', 'bid', 'bidSize', 'ask', 'askSize']);
  const dates = lines.slice(1).map(([date]) => date);
  assert.deepEqual(dates, ['2026-01-02', '2026-01-05', '2026-01-06']);
  const hours = await look(isin, '--kind', 'intraday', '--from', '2026-01-07T10:00:00+00:00', '--interval', 'Hour_1');
  assert.equal(hours.stdout.trimEnd().split('\n').length, 4);
});

test('an isin that the provider does not know is reported as that', async (t) => {
  const { look } = await scene(t);
  const { code, stdout, stderr } = await look('CH0012032049');
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /has no product with this isin/);
});

test('fields and intervals are listed in the help, and checked before anything is requested', async (t) => {
  const { look, isin, simulator } = await scene(t);
  let requests = 0;
  t.after(
    simulator.onRequest(() => {
      requests += 1;
    }),
  );
  for (const [args, found] of [
    [['--fields', 'Everything'], /--fields Everything: expected some of LastPrice, LastOpen/],
    [['--fields', 'LastPrice,Close'], /--fields Close: expected some of LastPrice/],
    [['--kind', 'daily', '--fields', 'BidAsk'], /--fields BidAsk: expected one of Close, CloseAccruedInterest, OHLC/],
    [['--kind', 'daily', '--fields', 'Close,OHLC'], /--fields Close,OHLC: expected one of Close/],
    [['--kind', 'intraday', '--fields', ''], /--fields : expected one of Close, OHLC, BidAsk/],
    [['--kind', 'intraday', '--interval', 'Minute_1'], /Allowed choices are Minute_5, Hour_1/],
    [['--kind', 'weekly'], /Allowed choices are overview, daily, intraday/],
    [['--interval', 'Hour_1'], /--interval cannot be used with --kind overview/],
    [['--kind', 'daily', '--interval', 'Hour_1'], /--interval cannot be used with --kind daily/],
    [['--kind', 'daily', '--from', '2026-02-30'], /must be days/],
    [['--kind', 'daily', '--from', '2026-01-07T00:00:00Z'], /must be days/],
    [['--kind', 'intraday', '--to', '2026-01-07T00:00:00'], /must be instants/],
    [['--kind', 'daily', '--from', '2026-01-08', '--to', '2026-01-07'], /--from must not be after --to/],
    [
      ['--kind', 'intraday', '--from', '2026-01-07T01:00:00Z', '--to', '2026-01-07T01:30:00+01:00'],
      /--from must not be after --to/,
    ],
  ] as const) {
    const { code, stderr } = await look(isin, ...args);
    assert.equal(code, 2, stderr);
    assert.match(stderr, found);
  }
  assert.equal(requests, 0);
  const { stdout } = await runWith(['lookup', 'price', '--help']);
  assert.match(stdout, /without\s+it,\s+the\s+provider's\s+default\s+fields/);
  for (const line of [
    /overview: some of LastPrice, .*LastAccruedInterest/,
    /daily: one of Close, .*LastBidAskAccruedInterest/,
    /intraday: one of Close, OHLC, BidAsk/,
  ])
    assert.match(stdout, line);
});

test('an answer of another type is not printed as prices', async (t) => {
  for (const body of ['{"$type":"ProductDailyPriceResponse","prices":[]}', '{"lastOpen":1}', '[]', '{']) {
    const { look, isin } = await scene(t, { faults: [{ match: 'overview', fault: { kind: 'body', body } }] });
    const { code, stdout, stderr } = await look(isin);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^BODY_MALFORMED: /);
  }
});

test('a refused login names the section that it comes from', async (t) => {
  const { spconnect } = await providerScene(t, { instruments: 1 }, { CLIENT_SECRET: 'canary-9' });
  const { code, stderr } = await spconnect('lookup', 'price', 'CH0012032048');
  assert.equal(code, 1);
  const says =
    /request of referenceData\.auth .*, clientSecret \(or clientSecretFile\) and scope of referenceData\.auth/;
  assert.match(stderr, says);
});

test('without an address of the market data interface nothing is asked', async (t) => {
  const { spconnect } = await providerScene(t, { instruments: 1 }, { MARKET_DATA_URL: '' });
  const { code, stderr } = await spconnect('lookup', 'price', 'CH0012032048');
  assert.equal(code, 2);
  assert.match(stderr, /MARKET_DATA_URL/);
});
