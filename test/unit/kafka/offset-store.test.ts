import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import type { LogReader } from '../../../src/kafka/log-reader.ts';
import {
  offsetKey,
  offsetRecord,
  parseReset,
  readOffsets,
  type SourceOffset,
} from '../../../src/kafka/offset-store.ts';

const signal = new AbortController().signal;
const key = offsetKey('instruments', 'instruments');

function readerOf(...values: readonly [string | null, string | null][]): LogReader {
  return {
    async readToEnd({ topic, partitions, onRecord }) {
      for (const [index, [keyText, value]] of values.entries()) {
        onRecord({
          topic,
          partition: partitions[0] ?? -1,
          key: keyText === null ? null : Buffer.from(keyText),
          value: value === null ? null : Buffer.from(value),
          headers: {},
          offset: BigInt(index),
          timestampMs: 0,
        });
      }
    },
  };
}

const read = (...values: readonly [string | null, string | null][]) => readOffsets(readerOf(...values), 't', 4, signal);

function resetOf(offset: SourceOffset | ConnectorError | undefined) {
  assert.ok(offset !== undefined && !(offset instanceof ConnectorError));
  return parseReset(offset);
}

test('key and value are those of Kafka Connect, byte for byte', () => {
  const offset = { version: 1, since: '638-12', walk: null, walkPending: false, name: 'Zürich "x"' };
  const record = offsetRecord({ topic: 't', key: offsetKey('instruments', 'pre-trade-checks'), offset });
  assert.equal(String(record.key), '["instruments",{"endpoint":"pre-trade-checks"}]');
  const text = String(record.value);
  assert.equal(text, '{"version":1,"since":"638-12","walk":null,"walkPending":false,"name":"Zürich \\"x\\""}');
  assert.deepEqual(record.headers, {});
});

test('the newest value of each key counts, and a key that was reset has its mark', async () => {
  const other = offsetKey('checks', 'pre-trade-checks');
  const offsets = await read([key, '{"since":"1"}'], [other, '{"a":true}'], [key, '{"since":"2"}'], [other, null]);
  assert.deepEqual([...offsets.keys()].sort(), [other, key].sort());
  assert.deepEqual(offsets.get(key), { since: '2' });
  assert.deepEqual(resetOf(offsets.get(other)), { a: true });
});

test('a mark of a reset reports what stood before it, as far as that can still be read', async () => {
  const before = async (...values: readonly [string, string | null][]) => resetOf((await read(...values)).get(key));
  assert.deepEqual(await before([key, '{"since":"1"}'], [key, null], [key, null]), { since: '1' });
  assert.deepEqual(await before([key, null]), {});
  assert.deepEqual(await before([key, 'broken'], [key, null]), {});
  assert.deepEqual(await before([key, '{"nested":{}}'], [key, null]), {});
  assert.equal(await before([key, '{"since":"1"}'], [key, null], [key, '{"since":"2"}']), null);
});

test('a broken value that was replaced or reset does no harm, nor does a record without a key', async () => {
  const offsets = await read([key, 'broken'], [key, '{"since":"2"}'], ['x', '['], ['x', null], [null, 'broken']);
  assert.deepEqual(offsets.get(key), { since: '2' });
  assert.deepEqual(resetOf(offsets.get('x')), {});
});

for (const value of ['', 'broken', '[]', '"text"', 'null', '{"nested":{}}', '{"list":[]}', '{"n":9007199254740993}']) {
  test(`the value ${value || '(empty)'} is unreadable, reported with topic, partition, offset and key`, async () => {
    const offsets = await read([key, '{}'], [key, value], ['other', '{"since":"1"}']);
    const error = offsets.get(key);
    assert.ok(error instanceof ConnectorError);
    assert.equal(error.code, 'OFFSET_UNREADABLE');
    assert.equal(error.action, 'stopSource');
    assert.deepEqual(error.fields, { topic: 't', partition: 4, offset: '1', key });
    assert.match(error.message, /key \["instruments",\{"endpoint":"instruments"\}\] at offset 1 of t, partition 4/);
    assert.deepEqual(offsets.get('other'), { since: '1' });
  });
}
