import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeedBrokers } from '../../../../src/kafka/kafkajs/seed-brokers.ts';
import { SteppedClock } from '../stepped-clock.ts';

test('any broker may be the first to be asked, but for one that was silent of late', async () => {
  const clock = new SteppedClock();
  let chance = 0;
  const seeds = new SeedBrokers(['a:1', 'b:2', 'c:3'], clock, () => chance);
  assert.deepEqual(seeds.choose(), ['a:1']);
  chance = 0.99;
  assert.deepEqual(seeds.choose(), ['c:3']);
  seeds.wasSilent('c:3');
  seeds.wasSilent('known.by.another.name:3');
  assert.deepEqual(seeds.choose(), ['b:2']);
  await clock.advance(61_000);
  assert.deepEqual(seeds.choose(), ['c:3']);
});

test('where all were silent, one of them is asked all the same', () => {
  const seeds = new SeedBrokers(['a:1', 'b:2'], new SteppedClock(), () => 0);
  seeds.wasSilent('a:1');
  seeds.wasSilent('b:2');
  assert.deepEqual(seeds.choose(), ['a:1']);
});
