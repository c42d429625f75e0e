import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answersOf, bulkBody, pricedItem } from '../../support/decoding/bulk-answers.ts';

const [A, C] = [pricedItem('A', '"lastOpen":1'), pricedItem('C', '"lastOpen":3')];

const UNREADABLE: Record<string, Buffer> = {
  'a byte that is not UTF-8': Buffer.from(pricedItem('B', '"lastOpen":2,"note":"\xfc"'), 'latin1'),
  'a depth of 65': Buffer.from(pricedItem('B', `"lastOpen":2,"note":${'['.repeat(61)}${']'.repeat(61)}`)),
};

for (const [what, item] of Object.entries(UNREADABLE)) {
  test(`one item with ${what} is no price, and the others are`, async () => {
    const body = Buffer.from(bulkBody([A, '?', C]));
    const at = body.indexOf('?');
    const spoiled = Buffer.concat([body.subarray(0, at), item, body.subarray(at + 1)]);
    const { answers } = await answersOf(spoiled, ['A', 'B', 'C']);
    assert.deepEqual(
      answers.map(({ kind }) => kind),
      ['prices', 'unusable', 'prices'],
    );
    const [, unusable] = answers;
    assert.ok(unusable?.kind === 'unusable' && unusable.item.equals(item));
  });
}
