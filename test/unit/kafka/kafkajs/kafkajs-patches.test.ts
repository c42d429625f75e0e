// Needs a process of its own: it loads kafkajs before and after the patches.
import assert from 'node:assert/strict';
import { createRequire, registerHooks } from 'node:module';
import { test } from 'node:test';
import type { RawMessage } from '../../../../src/kafka/kafkajs/kafkajs-internals.ts';
import { loadKafkajs, withoutAborted } from '../../../../src/kafka/kafkajs/kafkajs-patches.ts';

const require = createRequire(import.meta.url);
const inKafkajs = (module: string) => require(`kafkajs/${module}`);

const FILTER = 'src/consumer/filterAbortedMessages.js';
// Before anything is patched, as by a program that loaded kafkajs first.
const original = inKafkajs(FILTER);
const loadedBefore = require('kafkajs');

test('a function with another source is refused, naming it and what to do', () => {
  const changed = registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      return url.endsWith(FILTER) ? { ...loaded, source: 'module.exports = () => {}' } : loaded;
    },
  });
  const refusal = /filterAbortedMessages\.js has another function than its patch expects.*Install kafkajs 2\.2\.4/;
  assert.throws(() => loadKafkajs(), refusal);
  changed.deregister();
});

test('a kafkajs that was loaded before is loaded again with all patches, and only once', () => {
  const kafkajs = loadKafkajs();
  assert.notEqual(kafkajs, loadedBefore);
  assert.equal(loadKafkajs(), kafkajs);
  assert.equal(inKafkajs(FILTER), withoutAborted);
  assert.notEqual(original, withoutAborted);
  // A module that took it when it was loaded has the patched one.
  const Runner = inKafkajs('src/consumer/runner.js');
  const logger = { namespace: () => logger };
  assert.match(String(new Runner({ logger }).fetchManager.stop), /isStopped/);
});

const [REFUSED, NOT_ATTEMPTED] = [29, 55];
const CODES = Object.entries({ a: NOT_ATTEMPTED, b: REFUSED, c: NOT_ATTEMPTED, d: REFUSED });

for (const [name, response] of Object.entries({
  addPartitionsToTxn: { errors: CODES.map(([topic, errorCode]) => ({ topic, partitionErrors: [{ errorCode }] })) },
  txnOffsetCommit: { topics: CODES.map(([topic, errorCode]) => ({ topic, partitions: [{ errorCode }] })) },
  metadata: { topicMetadata: CODES.map(([topic, topicErrorCode]) => ({ topic, topicErrorCode })) },
})) {
  test(`a refusal in a response to ${name} names the topics that were refused, and the reason`, async () => {
    loadKafkajs();
    const { versions, protocol } = inKafkajs(`src/protocol/requests/${name}/index.js`);
    for (const version of versions) {
      const { parse } = protocol({ version })({ topics: ['a'] }).response;
      await assert.rejects(parse(response), { type: 'TOPIC_AUTHORIZATION_FAILED', topics: ['b', 'd'] });
    }
  });
}

test('a batch whose last records were compacted away shows its end as one control record', async () => {
  loadKafkajs();
  const { RecordBatch } = inKafkajs('src/protocol/recordBatch/v0/index.js');
  const Record = inKafkajs('src/protocol/recordBatch/record/v0/index.js');
  const Decoder = inKafkajs('src/protocol/decoder.js');
  const records = [0, 2].map((offsetDelta) => Record({ offsetDelta, timestampDelta: 0, key: 'k', value: 'v' }));
  for (const compression of [0, 1]) {
    const encoded = await RecordBatch({ firstOffset: 10, lastOffsetDelta: 4, records, compression });
    const decoded = await inKafkajs('src/protocol/recordBatch/v0/decoder.js')(new Decoder(encoded.buffer));
    assert.deepEqual(
      decoded.records.map(({ offset, isControlRecord }: RawMessage) => [offset, isControlRecord]),
      [
        ['10', false],
        ['12', false],
        ['14', true],
      ],
    );
  }
});
