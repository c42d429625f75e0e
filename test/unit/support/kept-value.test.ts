import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keptValue } from '../../../src/support/kept-value.ts';

function kept() {
  const searches: PromiseWithResolvers<string>[] = [];
  const clock = { nowMs: 0, monotonicMs: () => clock.nowMs };
  const find = () => {
    const search = Promise.withResolvers<string>();
    searches.push(search);
    return search.promise;
  };
  return { searches, clock, answer: keptValue(find, { keepMs: 1_000, clock }) };
}

test('one search serves those who ask meanwhile and for a while after', async () => {
  const { searches, clock, answer } = kept();
  const asked = [answer.get(), answer.get()];
  clock.nowMs = 60_000;
  asked.push(answer.get());
  searches[0]?.resolve('first');
  assert.deepEqual(await Promise.all(asked), ['first', 'first', 'first']);
  clock.nowMs = 60_999;
  assert.equal(await answer.get(), 'first');
  assert.equal(searches.length, 1);
  clock.nowMs = 61_000;
  const next = answer.get();
  searches[1]?.resolve('second');
  assert.equal(await next, 'second');
});

test('a failure is reported to those who wait, and the next one searches again', async () => {
  const { searches, answer } = kept();
  const asked = [answer.get(), answer.get()];
  searches[0]?.reject(new Error('no'));
  for (const one of asked) await assert.rejects(one, /no/);
  const next = answer.get();
  searches[1]?.resolve('yes');
  assert.equal(await next, 'yes');
});

test('what is forgotten while it is found out serves nobody who asks later', async () => {
  const { searches, answer } = kept();
  const before = answer.get();
  answer.forget();
  const after = answer.get();
  searches[1]?.resolve('new');
  searches[0]?.resolve('old');
  assert.deepEqual([await before, await after], ['old', 'new']);
  assert.equal(await answer.get(), 'new');
});
