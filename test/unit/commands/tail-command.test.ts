import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { tailTopic } from '../../../src/commands/tail-command.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { partitionFor } from '../../../src/kafka/record.ts';
import type { TopicSpecification } from '../../../src/kafka/topic.ts';
import { memoryInstallation } from '../../support/memory-kafka/memory-installation.ts';

const { topics } = await memoryInstallation();

async function tailed(topic: TopicSpecification, key: string | null, records: readonly Partial<OutgoingRecord>[]) {
  const at = await memoryInstallation();
  const nothing = { topic: topic.name, partition: 0, key: null, value: null, headers: {} };
  await at.write(records.map((record) => ({ ...nothing, ...record })));
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

test('a signal ends it with success, but not one that is to read to the end', async () => {
  const at = await memoryInstallation();
  for (const untilEnd of [false, true]) {
    const stopped = new AbortController();
    const request = { topic: topics.prices, key: null, fromBeginning: true, untilEnd, limit: 10 };
    const tail = tailTopic({ ...at, signal: stopped.signal }, { ...request, onRecord: async () => {} });
    const reason = new Error('stopped');
    stopped.abort(reason);
    await (untilEnd ? assert.rejects(tail, reason) : tail);
  }
});

test('dead letters are shown as they are, also those that are no text or look like Avro', async () => {
  const letters = [Buffer.from([0, 0, 0, 0, 9, 255]), Buffer.from('{"id":"Zürich"}')];
  const records = letters.map((value) => ({ value }));
  const shown = await tailed(topics['dead-letters'], null, records);
  assert.deepEqual(shown, ['\u0000\u0000\u0000\u0000\tÿ', '{"id":"Zürich"}']);
});
