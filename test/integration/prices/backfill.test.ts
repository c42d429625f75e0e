import assert from 'node:assert/strict';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { CommittedRecord } from '../../../src/kafka/record.ts';
import type { ReadableRecord } from '../../../src/records/avro/record-reader.ts';
import type { ConnectorProcess } from '../../support/connectors/connector-process.ts';
import { testInstallation } from '../../support/connectors/installation.ts';
import { rawAdmin } from '../../support/kafka/placed-topics.ts';
import { fencePrices, onceRight } from '../../support/ledgers/prices-on-topics.ts';
import { readable } from '../../support/ledgers/readable.ts';

const INSTRUMENTS = 12;
const DAY_MS = 86_400_000;
const RATE = '4';
const SERIES = ['Close', 'OHLC'];
const dayText = (daysAgo: number) => new Date(Date.now() - daysAgo * DAY_MS).toISOString().slice(0, 10);

const DAILY = 'daily: { enabled: true, refreshInterval: 1s, lookBack: 5d, fields: [Close, OHLC] }';
const INTRADAY = 'intraday: { enabled: true, refreshInterval: 1h, lookBack: 1h, interval: Hour_1, fields: BidAsk }';

const sceneOf = (kind = DAILY, instruments = INSTRUMENTS) => ({
  simulator: { instruments, seed: 7 },
  prices: `
  maxItems: 2
  kinds:
    overview: { enabled: false }
    ${kind}`,
});

/** Sends the process a signal when it sends a request with this number. */
function signalAtRequest(
  simulator: Simulator,
  { child }: ConnectorProcess,
  number: number,
  signal: 'SIGKILL' | 'SIGINT',
) {
  let requests = 0;
  return simulator.onRequest((endpoint) => {
    if (endpoint === 'bulk' && ++requests === number) child.kill(signal);
  });
}

async function assertAsServed(simulator: Simulator, records: readonly CommittedRecord[], from: string, to: string) {
  const values = readable(records, 'DailyPrice');
  const read = new Map(records.map(({ key }, index) => [String(key), values[index] ?? {}]));
  const token = await accessToken(simulator);
  let windows = 0;
  for (const { id, text } of simulator.ledger.instruments()) {
    const { currency, priceType, identifiers } = JSON.parse(text);
    for (const fields of SERIES) {
      const query = new URLSearchParams({ fields, dateFrom: from, dateTo: to });
      const url = `${simulator.marketDataUrl}/v1/products/${identifiers[0].value}/prices/daily?${query}`;
      const sent = await (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).text();
      for (const [window] of sent.slice(sent.indexOf('[')).matchAll(/\{[^}]*\}/g)) {
        const record = read.get(`${id}/${fields}/${/"date":"([^"]+)"/.exec(window)?.[1]}`);
        assert.ok(record, `${window} of ${id} is missing`);
        assert.deepEqual([record.currency, record.priceType], [currency, priceType]);
        assertDigits(window, record);
        windows += 1;
      }
    }
  }
  assert.equal(windows, records.length, 'nothing else is on the topic');
}

function assertDigits(window: string, record: ReadableRecord): void {
  for (const [, name = '', sent = ''] of window.matchAll(/"(\w+)":(-?\d[\d.]*)/g)) {
    const digits = sent.includes('.') ? sent.replace(/\.?0+$/, '') : sent;
    if ((digits.split('.')[1]?.length ?? 0) <= 18) assert.equal(record[name], digits, name);
  }
}

async function accessToken({ tokenUrl, clientId, clientSecret }: Simulator): Promise<string> {
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' };
  const response = await fetch(tokenUrl, {
    method: 'POST',
    headers,
    body: 'grant_type=client_credentials&scope=openid',
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

testInstallation(
  'a backfill that is killed goes on where it stopped: each window once, as the provider has it',
  sceneOf(),
  async (_t, at) => {
    const { kafka, simulator, prefix } = at;
    const connector = await at.start();
    const topicRecords = (toHighWatermark = false) => at.read('daily-prices', { toHighWatermark });
    await onceRight(async () => {
      const found = new Set((await topicRecords()).map(({ key }) => String(key).split('/').slice(0, 2).join('/')));
      return found.size < INSTRUMENTS * SERIES.length ? `${found.size} series have prices` : null;
    });
    await connector.stop();
    await fencePrices(kafka, prefix);
    const newest = (await topicRecords()).map(({ key }) => String(key));

    const [from, to] = [dayText(60), dayText(10)];
    const command = ['backfill', 'daily', '--from', from, '--to', to, '--output', 'json'];
    const refused = at.startProcess('backfill', 'daily', '--from', from, '--to', dayText(2));
    assert.match(await refused.line('error: '), /expected a --to that excludes the windows of the price processor/);
    assert.equal((await refused.ended).code, 2);

    // Six pages for each of two series: killed in each of them, and once at the first request.
    const written: number[] = [];
    for (const request of [1, 3, 6]) {
      const run = at.startProcess(...command);
      const done = signalAtRequest(simulator, run, request, 'SIGKILL');
      assert.equal((await run.ended).signal, 'SIGKILL');
      done();
      written.push((await topicRecords()).length - newest.length);
    }
    assert.ok((written[1] ?? 0) > 0 && (written[2] ?? 0) > (written[1] ?? 0), `${written} windows after each kill`);

    const interrupted = at.startProcess(...command);
    const done = signalAtRequest(simulator, interrupted, 1, 'SIGINT');
    assert.equal((await interrupted.ended).code, 130);
    done();
    assert.match(interrupted.lines.join('\n'), /Run the same command again: it continues where it stopped\./);

    const last = at.startProcess(...command);
    assert.deepEqual(await last.ended, { code: 0, signal: null }, last.lines.join('\n'));
    const own = (await topicRecords(true)).filter(({ key }) => (String(key).split('/')[2] ?? '') <= to);
    assert.equal(new Set(own.map(({ key }) => String(key))).size, own.length, 'a window was written twice');
    await assertAsServed(simulator, own, from, to);

    const again = at.startProcess(...command);
    assert.equal((await again.ended).code, 0);
    assert.match(again.lines.join('\n'), /"done": 12,\s*"windows": 0/);
    assert.equal(
      (await topicRecords(true)).length - newest.length,
      own.length,
      'what is complete is not written again',
    );

    const { id } = simulator.publish({ kind: 'newissue' });
    const ids = [...simulator.ledger.instruments()].map((one) => BigInt(one.id));
    assert.ok(id !== null && ids.some((one) => one > BigInt(id)), 'the new id is not the highest');
    const next = await at.start();
    await onceRight(async () =>
      (await topicRecords()).some(({ key }) => String(key).startsWith(`${id}/`)) ? null : `no price of ${id}`,
    );
    await next.stop();
    await fencePrices(kafka, prefix);
    const withNew = at.startProcess(...command);
    assert.deepEqual(await withNew.ended, { code: 0, signal: null }, withNew.lines.join('\n'));
    const all = (await topicRecords(true)).filter(({ key }) => (String(key).split('/')[2] ?? '') <= to);
    assert.equal(new Set(all.map(({ key }) => String(key))).size, all.length, 'a window was written twice');
    assert.ok(all.length > own.length, 'the new product has windows');
    await assertAsServed(simulator, all, from, to);
  },
);

testInstallation(
  'instruments that fail in a backfill, many in a row from its start, are named each time, and can be asked for alone',
  // The topic of the source has a name of its own, so that no command may expect the usual one.
  { ...sceneOf(DAILY, 40), source: { topics: '{ instruments: of-one-source }' } },
  async (t, at) => {
    const { kafka, simulator, prefix, file } = at;
    const connector = await at.start();
    const topicRecords = () => at.read('daily-prices');
    await connector.event('walkCompleted');
    await connector.stop();
    await fencePrices(kafka, prefix);
    const universe = [...simulator.ledger.instruments()].sort((one, other) => Number(one.id) - Number(other.id));
    const isins = universe.map(({ text }) => JSON.parse(text).identifiers[0].value as string).slice(0, 30);
    simulator.injectFaults([{ match: 'bulk', count: 0, fault: { kind: 'bulk', how: 'refuse', isins } }]);

    // The second one finds the same failures among the dead letters. The last one asks for nothing but what is refused.
    const requests: string[] = [];
    let groups: string[] = [];
    for (const [from, to, ...only] of [
      [dayText(60), dayText(50)],
      [dayText(40), dayText(30)],
      [dayText(40), dayText(30), '--isin', ...isins.slice(5)],
    ]) {
      const run = at.startProcess('backfill', 'daily', '--from', String(from), '--to', String(to), ...only);
      assert.equal((await run.ended).code, 1);
      const text = run.lines.join('\n');
      const named = only.length > 0 ? isins.slice(5) : isins;
      const says = new RegExp(`daily/OHLC: the provider gave no prices \\(refused 400\\) for ${named.join(', ')}\\.`);
      assert.match(text, says);
      const advice = /spconnect (backfill .*)/.exec(text)?.[1];
      requests.push(`daily --from ${from} --to ${to}`);
      groups = [...text.matchAll(/--delete --group (\S+)/g)].map(([, group]) => String(group));
      if (only.length > 0)
        assert.deepEqual([advice, groups.length], [undefined, 2], 'its own command would find it done');
      else assert.equal(advice, `backfill ${requests.at(-1)} --config ${file} --isin ${named.join(' ')}`);
    }
    const letters = (await at.read('dead-letters')).filter(
      ({ headers }) => String(headers['spc-source']) === 'backfill',
    );
    // One for each request, series and instrument.
    const found = letters.map(({ headers }) => String(headers['spc-backfill']));
    const expected = requests.flatMap((request, at) => Array.from({ length: 2 * (at < 2 ? 30 : 25) }, () => request));
    assert.deepEqual(found, expected);
    const retried = at.startProcess('dead-letters', 'retry', String(letters[0]?.offset));
    await retried.ended;
    assert.match(retried.lines.join('\n'), /run `spconnect backfill daily --from /);

    simulator.clearFaults();
    const before = (await topicRecords()).length;
    const alone = at.startProcess('backfill', ...String(requests[0]).split(' '), '--isin', String(isins[0]));
    assert.equal((await alone.ended).code, 0, alone.lines.join('\n'));
    const added = (await topicRecords()).slice(before);
    assert.ok((await topicRecords()).length > before, `${added.length} windows`);

    const { admin } = await rawAdmin(t, at.stack.brokers);
    await admin.deleteGroups(groups);
    const repeated = at.startProcess('backfill', ...String(requests[2]).split(' '), '--isin', ...isins.slice(5));
    assert.equal((await repeated.ended).code, 0, repeated.lines.join('\n'));
  },
);

testInstallation(
  'intraday windows are backfilled once, and what the provider has no prices of is named, a dead letter, and no failure',
  sceneOf(INTRADAY),
  async (t, at) => {
    const { kafka, simulator, prefix } = at;
    const connector = await at.start();
    await connector.event('walkCompleted');
    await connector.stop();
    await fencePrices(kafka, prefix);
    const universe = [...simulator.ledger.instruments()].sort((one, other) => Number(one.id) - Number(other.id));
    const [bad = '', good = ''] = universe.map(({ text }) => JSON.parse(text).identifiers[0].value as string);
    // The first one fails before the kill; the run that goes on names it all the same.
    simulator.injectFaults([{ match: 'bulk', count: 0, fault: { kind: 'bulk', how: 'null', isins: [bad] } }]);

    const hour = (ago: number) => `${new Date(Date.now() - ago * 3_600_000).toISOString().slice(0, 13)}:00:00Z`;
    const [from, to] = [hour(30), hour(6)];
    const command = ['backfill', 'intraday', '--from', from, '--to', to, '--rate', RATE, '--output', 'json'];
    const killed = at.startProcess(...command);
    const done = signalAtRequest(simulator, killed, 3, 'SIGKILL');
    assert.equal((await killed.ended).signal, 'SIGKILL');
    done();
    const askedAtMs: number[] = [];
    t.after(simulator.onRequest((endpoint) => endpoint === 'bulk' && askedAtMs.push(performance.now())));
    const finished = at.startProcess(...command);
    assert.deepEqual(await finished.ended, { code: 0, signal: null }, finished.lines.join('\n'));
    const says = new RegExp(`the provider gave no prices \\(none\\) for ${bad}\\. Their dead letters`);
    assert.match(finished.lines.join('\n'), says);
    const isNoFailure = new RegExp(`"withoutPrices": \\[\\s*\\{\\s*"isin": "${bad}".*"failed": \\[\\]`, 's');
    assert.match(finished.lines.join('\n'), isNoFailure);
    // They are spaced where they are sent: a busy machine may let the first one arrive late.
    const tookMs = (askedAtMs.at(-1) ?? 0) - (askedAtMs[0] ?? 0);
    const leastMs = ((Math.max(askedAtMs.length, 3) - 1) * 1_000) / Number(RATE);
    assert.ok(tookMs >= leastMs / 2, `${askedAtMs.length} requests within ${tookMs} ms`);
    const records = (await at.read('intraday-prices')).map(({ key }) => String(key));
    const own = records.filter((key) => (key.split('/')[3] ?? '') < to);
    assert.equal(new Set(own).size, own.length, 'a window was written twice');
    assert.deepEqual(own.sort(), (await intradayKeys(simulator, bad, from, to)).sort());
    const dead = await at.read('dead-letters');
    assert.equal(dead.filter(({ key }) => String(key) === String(universe[0]?.id)).length, 1, 'a dead letter');

    const asked = at.startProcess(...command, '--isin', good, 'CH0000000000');
    assert.equal((await asked.ended).code, 1);
    const unknown = /No instrument of the topics in prices\.from has these ISINs: CH0000000000\. Check --isin/;
    assert.match(asked.lines.join('\n'), unknown);
    const fast = at.startProcess(...command.slice(0, -4), '--rate', '2000');
    assert.equal((await fast.ended).code, 2);
    const tooFast = /a --rate of 2000; expected more than 0 and at most marketData\.requestsPerSecond/;
    assert.match(fast.lines.join('\n'), tooFast);
  },
);

/** The keys of all windows that the provider serves from one hour to before another, but for one product. */
async function intradayKeys(simulator: Simulator, bad: string, from: string, to: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${await accessToken(simulator)}` };
  const keys: string[] = [];
  for (const { id, text } of simulator.ledger.instruments()) {
    const isin = JSON.parse(text).identifiers[0].value;
    if (isin === bad) continue;
    const query = new URLSearchParams({ interval: 'Hour_1', fields: 'BidAsk', dateFrom: from, dateTo: to });
    const url = `${simulator.marketDataUrl}/v1/products/${isin}/prices/intraday?${query}`;
    const { prices } = (await (await fetch(url, { headers })).json()) as {
      prices: { windowOpenTimestamp: string }[];
    };
    const opened = prices
      .map(({ windowOpenTimestamp }) => windowOpenTimestamp)
      .filter((open) => Date.parse(open) < Date.parse(to));
    keys.push(...opened.map((open) => `${id}/Hour_1/BidAsk/${open}`));
  }
  return keys;
}
