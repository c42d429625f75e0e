import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Simulator } from '../../src/dev/simulator/simulator.ts';
import type { PriceResult } from '../support/ledgers/price-log.ts';
import type { KeyedContent, UniverseLog } from '../support/ledgers/universe-log.ts';
import { unservedPrices } from '../support/network/served-prices.ts';
import { type ConnectorLog, eventFindings, findingsOf } from './oracle.ts';
import type { FindingKind } from './violation.ts';

const at = (key: string, content: string | null): KeyedContent => ({ key, content });
const input = (offset: number, id: string, isin: string | null) =>
  ({ partition: 0, offset, id, kind: isin === null ? 'gone' : 'live', isin }) as const;
const price = (id: string, isin: string, offset: number): PriceResult => ({
  kind: 'price',
  id,
  isin,
  answers: { partition: 0, offsets: [offset] },
});

const universe: UniverseLog = {
  versions: new Map([
    ['1', ['issuePrice 100.10', 'issuePrice 100.20', 'issuePrice 100.30']],
    ['2', ['issuePrice 7.5', 'issuePrice 7.6']],
    ['3', ['issuePrice 3']],
  ]),
  universe: new Map([
    ['1', 'issuePrice 100.30'],
    ['2', 'issuePrice 7.6'],
  ]),
  published: [at('1', 'event 1.2'), at('2', 'event 2.2'), at('1', 'event 1.3')],
  instruments: [
    at('1', 'issuePrice 100.10'),
    at('3', 'issuePrice 3'),
    at('1', 'issuePrice 100.20'),
    at('2', 'issuePrice 7.6'),
    at('1', 'issuePrice 100.30'),
    at('3', null),
  ],
  events: [at('1', 'event 1.2'), at('2', 'event 2.2'), at('1', 'event 1.3')],
};
const right: ConnectorLog = {
  universe,
  prices: {
    inputs: [input(0, '1', 'A'), input(1, '2', 'B'), input(2, '3', null)],
    results: [
      price('1', 'A', 0),
      price('2', 'B', 1),
      { kind: 'tombstone', id: '3', isin: null, answers: { partition: 0, offsets: [2] } },
    ],
    committed: new Map([[0, 3]]),
  },
  unserved: [],
  committed: ['10-0', '20-0', '30-0', '30-1'],
  issued: ['20-0', '25-0', '30-0', '30-1'],
  newest: '30-1',
  partitions: [{ topic: 'x.instruments', partition: 0, lastStableOffset: 9, highWatermark: 9 }],
};

const { instruments, events } = universe;
const { results } = right.prices;
const withInstruments = (records: readonly KeyedContent[]) => ({ universe: { ...universe, instruments: records } });
const withEvents = (records: readonly KeyedContent[]) => ({ universe: { ...universe, events: records } });
const withResults = (records: readonly PriceResult[]) => ({ prices: { ...right.prices, results: records } });

/** Logs with one fault each, and as what it must be found. */
const SPOILED: readonly (readonly [what: string, kind: FindingKind, log: Partial<ConnectorLog>])[] = [
  ['an instrument is missing', 'lost', withInstruments(instruments.toSpliced(3, 1))],
  ['the last version of an instrument is missing', 'lost', withInstruments(instruments.toSpliced(4, 1))],
  ['a version is doubled', 'twice', withInstruments(instruments.toSpliced(3, 0, at('1', 'issuePrice 100.20')))],
  [
    'two versions are swapped',
    'out of order',
    withInstruments([at('1', 'issuePrice 100.20'), ...instruments.toSpliced(2, 1)]),
  ],
  ['a digit of an instrument has changed', 'wrong', withInstruments(instruments.with(3, at('2', 'issuePrice 7.7')))],
  ['a tombstone is missing', 'wrong', withInstruments(instruments.toSpliced(5, 1))],
  ['a tombstone comes twice', 'twice', withInstruments([...instruments, at('3', null)])],
  [
    'a living instrument is deleted, and written again',
    'wrong',
    withInstruments(instruments.toSpliced(3, 0, at('2', 'issuePrice 7.5'), at('2', null))),
  ],
  ['an event is missing', 'lost', withEvents(events.toSpliced(1, 1))],
  ['an event is doubled', 'twice', withEvents([...events, at('2', 'event 2.2')])],
  [
    'two events are swapped',
    'out of order',
    withEvents([at('1', 'event 1.3'), at('2', 'event 2.2'), at('1', 'event 1.2')]),
  ],
  ['a digit of an event has changed', 'wrong', withEvents(events.with(1, at('2', 'event 2.3')))],
  ['a record has no price', 'lost', withResults(results.toSpliced(1, 1))],
  ['a record has two prices', 'twice', withResults([...results, price('2', 'B', 1)])],
  ['the price of another instrument', 'wrong', withResults(results.with(1, price('2', 'A', 1)))],
  ['the price of what is gone is left', 'wrong', withResults(results.with(2, price('3', 'C', 2)))],
  ['a digit of a price has changed', 'wrong', { unserved: ['a price of A is none of those that were served'] }],
  ['an offset goes back', 'out of order', { committed: ['20-0', '30-1', '30-0', '30-1'] }],
  ['an offset that was never issued', 'wrong', { committed: ['20-0', '29-0', '30-1'] }],
  ['an offset behind the records', 'wrong', { committed: ['20-0', '30-0'] }],
  [
    'an open transaction',
    'stuck',
    { partitions: [{ topic: 'x', partition: 0, lastStableOffset: 7, highWatermark: 9 }] },
  ],
];

test('nothing is found in a right log', () => {
  assert.deepEqual(findingsOf(right), []);
});

test('of a version that is doubled, the places of both records are named', () => {
  const places = ['0/7 at noon', '0/9 at one'] as const;
  const doubled = places.map((place) => ({ ...at('1', 'issuePrice 100.20'), place }));
  const log = { ...right, ...withInstruments([...instruments.filter(({ key }) => key !== '1'), ...doubled]) };
  const texts = findingsOf(log).map(({ text }) => text);
  assert.ok(texts.includes(`a version of instrument 1; ${places.join('; ')}`), texts.join('\n'));
});

for (const [what, kind, log] of SPOILED) {
  test(`the oracle finds: ${what}`, () => {
    const found = findingsOf({ ...right, ...log });
    const isFound = found.some((finding) => finding.kind === kind);
    assert.ok(isFound, `found ${JSON.stringify(found)}`);
  });
}

test('a price is one that was served, digit by digit', async () => {
  const text =
    '{"$type":"ProductOverviewResponse","isin":"A","last":{"price":101.250000,"size":7},"at":"2026-01-02T03:04:05Z"}';
  const last = [{ kind: 'overview', atMs: 0, text } as const];
  const simulator = { ledger: { pricesOf: () => ({ isin: 'A', served: 1, last }) } } as unknown as Simulator;
  const own = (price: string) => ({
    isin: 'A',
    last: { price, size: '7' },
    at: '2026-01-02T03:04:05.000Z',
    extras: null,
  });
  assert.deepEqual(await unservedPrices(simulator, [own('101.25')]), []);
  assert.equal((await unservedPrices(simulator, [own('101.25'), own('101.26')])).length, 1);
});

test('while events still come, what is there must be the beginning of what has to come', () => {
  const due = ['a', 'b', 'c', 'd'].map((content) => at('1', content));
  const kinds = (...seen: string[]) =>
    eventFindings(
      due,
      seen.map((content) => at('1', content)),
      false,
    ).map(({ kind }) => kind);
  assert.deepEqual(kinds(), []);
  assert.deepEqual(kinds('a', 'b'), []);
  assert.deepEqual(kinds('a', 'c'), ['twice'], 'an event that comes too early');
  assert.deepEqual(kinds('a', 'b', 'b'), ['twice']);
  assert.deepEqual(kinds('b', 'a'), ['out of order']);
  assert.deepEqual(kinds('a', 'x'), ['wrong']);
});
