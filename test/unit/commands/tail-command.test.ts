import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { tailTopic } from '../../../src/commands/tail-command.ts';
import { loadSettings } from '../../../src/config/load.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { partitionFor } from '../../../src/kafka/record.ts';
import type { TopicSpecification } from '../../../src/kafka/topic.ts';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import type { Installation } from '../../../src/run/installation.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';
import { settingsText } from '../config/settings-text.ts';

const topics = topicPlan({ prefix: 'p', names: {}, partitions: 6, replicationFactor: 1 });

async function tailed(topic: TopicSpecification, key: string | null, records: readonly Partial<OutgoingRecord>[]) {
  const broker = new MemoryBroker(() => 0);
  broker.createTopic(topic);
  const kafka = createMemoryCluster({ broker });
  const { signal } = new AbortController();
  const writer = kafka.transactionalWriter('w');
  await writer.open(async () => {}, signal);
  await writer.commit({
    records: records.map((record) => ({
      topic: topic.name,
      partition: 0,
      key: null,
      value: null,
      headers: {},
      ...record,
    })),
  });
  const settings = await loadSettings({ text: settingsText({}), env: {} });
  const at: Installation = { settings, prefix: 'p', kafka, topics, clock: skippingClock(), signal };
  const values: unknown[] = [];
  const request = { topic, key, fromBeginning: true, untilEnd: true, limit: 10 };
  let taking = 0;
  await tailTopic(at, {
    ...request,
    async onRecord(record) {
      taking += 1;
      assert.equal(taking, 1, 'the one before is taken');
      await setImmediate();
      taking -= 1;
      values.push(record.value);
    },
  });
  return values;
}

for (const [role, key] of [
  ['daily-prices', '17/OHLC/2026-03-02'],
  ['intraday-prices', '17/Minute_5/BidAsk/2026-03-01T10:00:00Z'],
  ['prices', '17'],
  ['pre-trade-checks', '17/a'],
] as const) {
  test(`a record of ${role} is found by its key on the partition where it was written`, async () => {
    const placing = role === 'pre-trade-checks' ? key : '17';
    const partition = partitionFor(Buffer.from(placing), topics[role].partitions);
    const record = { partition, key: Buffer.from(key), value: Buffer.from('found') };
    assert.deepEqual(await tailed(topics[role], key, [record]), ['found']);
  });
}

test('dead letters are shown as they are, also those that are no text or look like Avro', async () => {
  const letters = [Buffer.from([0, 0, 0, 0, 9, 255]), Buffer.from('{"id":"Zürich"}')];
  const shown = await tailed(
    topics['dead-letters'],
    null,
    letters.map((value) => ({ value })),
  );
  assert.deepEqual(shown, ['\u0000\u0000\u0000\u0000\tÿ', '{"id":"Zürich"}']);
});
