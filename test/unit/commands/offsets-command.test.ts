import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setOffset } from '../../../src/commands/offsets-command.ts';
import { loadSettings } from '../../../src/config/load.ts';
import { offsetKey, offsetPartition, offsetRecord } from '../../../src/kafka/offset-store.ts';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import { atInstallation } from '../../../src/run/installation.ts';
import { firstOffset, writeInstrumentsOffset } from '../../../src/sources/walk/instruments-offset.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

const TEXT = `
prefix: p
referenceData: { url: "https://provider.example/", auth: { type: none } }
kafka: { brokers: "kafka:9092" }
schemaRegistry: { url: "https://registry.example/" }
sources: [{ name: instruments, type: instruments }]
`;

test('what was suspected of the earlier place, and held beside it, does not go along to the new one', async () => {
  const settings = await loadSettings({ text: TEXT, env: {} });
  const broker = new MemoryBroker(() => 0);
  const plan = topicPlan({ prefix: 'p', names: {}, partitions: 6, replicationFactor: 1 });
  for (const topic of Object.values(plan)) broker.createTopic(topic);
  const signal = new AbortController().signal;
  const [source] = settings.sources;
  assert.ok(source);
  const key = offsetKey(source.name, source.type);
  const writer = createMemoryCluster({ broker }).transactionalWriter(`p-sources-${offsetPartition(key)}`);
  await writer.open(async () => {}, signal);
  const time = { dateMs: 0, from: 'provider', ownMs: 0 } as const;
  const suspected = {
    ...firstOffset('scope=all', '5-0', time, null),
    ...{ standingMs: 7_000, standingLeastMs: 6_000, gapSuspectedFromMs: 1_000, held: { since: '6-0', heldMs: 1_000 } },
  };
  await writer.commit({
    records: [offsetRecord({ topic: plan.offsets.name, key, offset: writeInstrumentsOffset(suspected) })],
  });

  const overrides = { kafka: createMemoryCluster({ broker }), clock: skippingClock() };
  const needs = ['offsets', 'states', 'instrument-events'] as const;
  const { after } = await atInstallation({ settings, signal, needs, overrides }, (at) =>
    setOffset(at, { source, to: { since: '4-0' }, execute: false }),
  );
  const { since, standingMs, standingLeastMs, gapSuspectedFrom, heldSince, heldMs } = after ?? {};
  assert.deepEqual(
    { since, standingMs, standingLeastMs, gapSuspectedFrom, heldSince, heldMs },
    { since: '4-0', standingMs: 0, standingLeastMs: 0, gapSuspectedFrom: null, heldSince: null, heldMs: null },
  );
});
