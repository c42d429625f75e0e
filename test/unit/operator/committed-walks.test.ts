import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadSettings } from '../../../src/config/load.ts';
import { firstOffset, writeInstrumentsOffset } from '../../../src/connector/walk/instruments-offset.ts';
import { offsetKey, offsetPartition, offsetRecord } from '../../../src/kafka/offset-store.ts';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import { committedWalks } from '../../../src/operator/committed-walks.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { settingsText } from '../config/settings-text.ts';

for (const [committedMs, expected] of [
  [120_000, '1970-01-01T00:02:00.000Z'],
  [null, '1970-01-02T00:00:00.000Z'],
] as const) {
  test(`the next walk is named by what the source committed (${committedMs}), else by the settings of the shell`, async () => {
    const settings = await loadSettings({ text: settingsText({}), env: {} });
    const [source] = settings.sources;
    assert.ok(source?.type === 'instruments');
    const broker = new MemoryBroker(() => 0);
    const topics = topicPlan({ prefix: 'p', names: {}, partitions: 6, replicationFactor: 1 });
    for (const topic of Object.values(topics)) broker.createTopic(topic);
    const kafka = createMemoryCluster({ broker });
    const { signal } = new AbortController();
    const key = offsetKey(source.name, source.type);
    const writer = kafka.transactionalWriter(`p-sources-${offsetPartition(key)}`);
    await writer.open(async () => {}, signal);
    const time = { dateMs: 0, from: 'provider', ownMs: 0 } as const;
    const offset = writeInstrumentsOffset(firstOffset('scope=all', '5-0', time, null), committedMs);
    await writer.commit({ records: [offsetRecord({ topic: topics.offsets.name, key, offset })] });
    const walks = await committedWalks({ kafka, topics, signal }, source);
    assert.deepEqual([walks?.nextAt, walks?.intervalMs], [expected, committedMs ?? 86_400_000]);
  });
}
