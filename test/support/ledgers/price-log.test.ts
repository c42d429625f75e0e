import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answersOf, type PriceInput, type PriceLog, type PriceResult, priceViolations } from './price-log.ts';

const input = (offset: number, id: string, kind: PriceInput['kind'], isin: string | null = null): PriceInput => ({
  partition: 0,
  offset,
  id,
  kind,
  isin,
});
const result = (kind: PriceResult['kind'], id: string, offsets: number[], isin: string | null = null): PriceResult => ({
  kind,
  id,
  isin,
  answers: offsets.length === 0 ? null : { partition: 0, offsets },
});

/** One of each kind, one that was superseded before it was asked for, a refresh, and one that waits. */
const right: PriceLog = {
  inputs: [
    input(0, 'a', 'live', 'X'),
    input(1, 'b', 'live', 'Y'),
    input(2, 'a', 'live', 'Z'),
    input(4, 'c', 'noIsin'),
    input(5, 'b', 'gone'),
    input(6, 'd', 'unreadable'),
    input(7, 'e', 'live', 'W'),
  ],
  results: [
    result('deadLetter', 'b', [1]),
    result('price', 'a', [0, 2], 'Z'),
    result('tombstone', 'b', [5]),
    result('deadLetter', 'd', [6]),
    result('price', 'a', [], 'Z'),
    result('tombstone', 'c', [4]),
  ],
  committed: new Map([[0, 7]]),
};

test('a right log has no violations', () => {
  assert.deepEqual(priceViolations(right), []);
});

const without = (index: number) => right.results.filter((_, position) => position !== index);
const damages: Record<string, Partial<PriceLog>> = {
  'a lost price': { results: without(1) },
  'a failure that is no dead letter': {
    results: without(0),
    inputs: right.inputs.filter(({ offset }) => offset !== 5),
  },
  'a lost tombstone': { results: without(2) },
  'a lost tombstone of one without an isin': { results: without(5) },
  'a refresh of one that is gone': { results: [...right.results, result('price', 'b', [], 'Y')] },
  'a refresh of one without an isin': { results: [...right.results, result('price', 'c', [], 'Y')] },
  'a doubled result': { results: [...right.results, result('price', 'a', [2], 'Z')] },
  'a result for a record that will be read again': { results: [...right.results, result('price', 'e', [7], 'W')] },
  'an offset beyond an unanswered record': { committed: new Map([[0, 8]]) },
  'the price of an old isin': { results: [...without(1), result('price', 'a', [0, 2], 'X')] },
  'the result of another instrument': { results: [...without(1), result('price', 'b', [0, 2], 'Z')] },
  'a price for an instrument that is gone': { results: [...without(2), result('price', 'b', [5], 'Y')] },
};

for (const [what, damage] of Object.entries(damages)) {
  test(`${what} is found`, () => {
    assert.notDeepEqual(priceViolations({ ...right, ...damage }), []);
  });
}

test('the header of a result names partition and offsets', () => {
  assert.deepEqual(answersOf('a.instruments/3:17,25'), { partition: 3, offsets: [17, 25] });
  assert.equal(answersOf(undefined), null);
  assert.throws(() => answersOf('17'));
});
