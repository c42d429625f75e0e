import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { keyedRecord } from '../../../src/kafka/record.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';
import { ALL_PRICED, memberOf, POISON, priceLogOf, TOPICS } from './memory-prices.ts';

const LONGEST_BYTES = 256 * 1024;
const PATIENCE_MS = 300_000;

test('what is no instrument is one dead letter, cut and with its hash, and the others have their prices', async (t) => {
  const clock = skippingClock();
  const broker = new MemoryBroker(clock.wallMs);
  for (const topic of Object.values(TOPICS)) broker.createTopic(topic);
  const source = createMemoryCluster({ broker }).transactionalWriter('source');
  await source.open(async () => {}, new AbortController().signal);
  const huge = Buffer.alloc(LONGEST_BYTES + 1_000, POISON);
  await source.commit({
    records: [
      keyedRecord(TOPICS.instruments, '1', Buffer.from('isin-1'), {}),
      keyedRecord(TOPICS.instruments, '2', huge, {}),
      keyedRecord(TOPICS.instruments, 'no id', Buffer.from('isin-3'), {}),
      keyedRecord(TOPICS.instruments, '4', Buffer.from('isin-4'), {}),
    ],
  });
  const member = memberOf({ broker, clock, prices: ALL_PRICED, random: () => 0.5 });
  t.after(() => member.stop());
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (priceLogOf(broker).violations(true).length > 0 && performance.now() < deadlineMs) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(priceLogOf(broker).violations(true), []);
  assert.deepEqual(
    new Set(priceLogOf(broker).results.flatMap(({ isin }) => isin ?? [])),
    new Set(['isin-1', 'isin-4']),
  );

  const dead = broker.readCommitted(TOPICS.deadLetters.name, 0);
  assert.deepEqual(dead.map(({ key }) => String(key)).sort(), ['2', 'no id']);
  const cut = dead.find(({ key }) => String(key) === '2');
  assert.ok(cut);
  assert.ok(cut.value?.equals(huge.subarray(0, LONGEST_BYTES)));
  assert.equal(cut.headers['spc-length'], String(huge.length));
  assert.equal(cut.headers['spc-sha256'], createHash('sha256').update(huge).digest('hex'));
  assert.match(cut.headers['spc-input'] ?? '', /^instruments\/\d:\d+$/);
});
