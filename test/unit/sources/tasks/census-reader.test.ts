import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import type { LogReader } from '../../../../src/kafka/log-reader.ts';
import { type CommittedRecord, partitionFor } from '../../../../src/kafka/record.ts';
import type { CurrentDigests } from '../../../../src/records/avro/current-digest.ts';
import { readCensus, recordAge } from '../../../../src/sources/tasks/census-reader.ts';

const topic = { name: 'p.instruments', partitions: 6 };
const { signal } = new AbortController();

/** Values are `<schema>:<digest>`; schema 7 is the current one, others have to be loaded, and `bad` is none. */
function digests(): CurrentDigests & { readonly loaded: number[] } {
  const loaded: number[] = [];
  return {
    loaded,
    of(value) {
      const [schema, digest = ''] = value.toString().split(':');
      if (schema === 'bad') throw new ConnectorError('RECORD_UNREADABLE', 'A record cannot be compared: it is text.');
      const schemaId = Number(schema);
      if (schemaId !== 7 && !loaded.includes(schemaId)) return { unknownSchemaId: schemaId };
      return { digest: BigInt(digest), isCurrentSchema: schemaId === 7 };
    },
    load: async (schemaId) => void loaded.push(schemaId),
  };
}

type Held = readonly [key: string | null, value: string | null, partition?: number];

/** A topic that holds these keys and values, each in the partition of its key; the errors of `onRecord` are thrown on. */
function holding(...records: readonly Held[]): LogReader {
  return {
    async readToEnd(request) {
      assert.deepEqual([request.topic, request.partitions], ['p.instruments', [0, 1, 2, 3, 4, 5]]);
      for (const [at, [key, value, givenPartition]] of records.entries()) {
        const [keyBytes, valueBytes] = [key, value].map((text) => (text === null ? null : Buffer.from(text)));
        const partition = givenPartition ?? partitionFor(keyBytes ?? Buffer.alloc(0), topic.partitions);
        const place = { topic: topic.name, partition, offset: BigInt(at), timestampMs: 0, headers: {} };
        request.onRecord({ ...place, key: keyBytes ?? null, value: valueBytes ?? null } satisfies CommittedRecord);
      }
    },
  };
}

test('the newest record of each id counts, and tombstones take ids away', async () => {
  const reader = holding(['1', '7:10'], ['2', '7:20'], ['9223372036854775807', '7:30'], ['1', '7:11'], ['2', null]);
  const census = await readCensus({ reader, topic, digests: digests(), signal });
  assert.equal(census.size, 2);
  const compared = [census.compare(1n, 11n), census.compare(2n, 20n), census.compare(9223372036854775807n, 30n)];
  assert.deepEqual(compared, ['same', 'absent', 'same']);
});

test('records of earlier schemas are compared in the current one, each schema loaded once', async () => {
  const known = digests();
  const reader = holding(['1', '5:10'], ['2', '6:20'], ['3', '5:30'], ['2', '7:21'], ['4', '6:40']);
  const census = await readCensus({ reader, topic, digests: known, signal });
  const compared = [census.compare(1n, 10n), census.compare(2n, 21n), census.compare(3n, 30n), census.compare(4n, 41n)];
  assert.deepEqual(compared, ['sameUnderOtherSchema', 'same', 'sameUnderOtherSchema', 'different']);
  assert.deepEqual(known.loaded, [5, 6]);
});

for (const [what, key, value, says] of [
  ['a key that is no id', 'ABC', '7:1', /Its key is not the id of an instrument\./],
  ['a key beyond 64 bits', '9999999999999999999', '7:1', /Its key is not the id of an instrument\./],
  ['an id that is written otherwise', '007', '7:1', /Its key is not the id of an instrument\./],
  ['no key', null, '7:1', /Its key is not the id of an instrument\./],
  ['a value that is no record', '1', 'bad:1', /it is text\./],
] as const) {
  test(`a stranger's record with ${what} stops the source and says where it lies`, async () => {
    const reader = holding(['2', '7:20'], [key, value], ['3', '7:30']);
    await assert.rejects(readCensus({ reader, topic, digests: digests(), signal }), (error: ConnectorError) => {
      assert.deepEqual([error.code, error.action], ['RECORD_UNREADABLE', 'stopSource']);
      const begin = /^The record at offset 1 of p\.instruments, partition \d, was not written by this source\. /;
      assert.match(error.message, begin);
      assert.match(error.message, says);
      assert.match(error.message, /write a null value with the key of this record\.$/);
      return true;
    });
  });
}

test("a stranger's record that was taken back, or written over, is none", async () => {
  const reader = holding(['ABC', 'bad:1'], ['1', 'bad:1'], ['2', 'bad:1'], ['ABC', null], ['1', '7:10'], ['2', null]);
  const census = await readCensus({ reader, topic, digests: digests(), signal });
  assert.deepEqual([census.size, census.compare(1n, 10n)], [1, 'same']);
});

test('an event that was requested before the start of the source is not remembered', async () => {
  const event = (since: string, value: string | null) => ({ 'spc-endpoint': 'events', 'spc-since': since, value });
  const reader: LogReader = {
    async readToEnd({ onRecord }) {
      for (const [at, { value, ...headers }] of [
        event('5-4', '7:1'),
        event('5-5', '7:2'),
        event('5-4', null),
      ].entries()) {
        const key = Buffer.from(String(at));
        const place = {
          topic: topic.name,
          partition: partitionFor(key, topic.partitions),
          offset: BigInt(at),
          timestampMs: 0,
        };
        onRecord({ ...place, headers, key, value: value === null ? null : Buffer.from(value) });
      }
    },
  };
  const ages = async (streamStart: string | null) => {
    const eventRecords = { eventsEndpoint: 'events', since: '9-9', end: null, streamStart, ageMs: () => 7_000 };
    const census = await readCensus({ reader, topic, digests: digests(), eventRecords, signal });
    return [0n, 1n, 2n].map((id) => census.reportedAgeMs(id));
  };
  assert.deepEqual(await ages('5-5'), [null, 7_000, null]);
  assert.deepEqual(await ages(null), [7_000, 7_000, 7_000]);
});

test('a record outside the partition of its key stops the source, until a tombstone removes it there', async () => {
  const moved = holding(['1', '7:10'], ['2', '7:20'], ['1', '7:9', 5]);
  await assert.rejects(readCensus({ reader: moved, topic, digests: digests(), signal }), {
    code: 'TOPIC_REFUSED',
    message:
      /offset 2 of p\.instruments, partition 5, has the key 1, which belongs to partition [0-4]\. Partitions were added/,
  });
  const removed = holding(['1', '7:10'], ['1', '7:9', 5], ['1', null, 5]);
  const census = await readCensus({ reader: removed, topic, digests: digests(), signal });
  assert.deepEqual([census.size, census.compare(1n, 10n)], [1, 'same']);
});

test('a thousand strange keys are enough: no more of them are kept', async () => {
  let read = 0;
  const endless: LogReader = {
    async readToEnd({ onRecord }) {
      for (; read < 5_000; read++) {
        const place = { topic: topic.name, partition: 0, offset: BigInt(read), timestampMs: 0, headers: {} };
        onRecord({ ...place, key: Buffer.from(`x${read}`), value: Buffer.from('7:1') });
      }
    },
  };
  await assert.rejects(readCensus({ reader: endless, topic, digests: digests(), signal }), {
    code: 'RECORD_UNREADABLE',
  });
  assert.equal(read, 1_000);
});

test('a record counts as young by either clock, but not by a date that was far in the future when it was written', () => {
  const dayMs = 86_400_000;
  const wallMs = Date.parse('2026-01-10T00:00:00Z');
  const age = recordAge({ dateMs: wallMs, from: 'provider', ownMs: wallMs }, wallMs);
  const recordFrom = (writtenAgoMs: number, receivedAgoMs: number) =>
    age({
      timestampMs: wallMs - writtenAgoMs,
      headers: { 'spc-received': new Date(wallMs - receivedAgoMs).toISOString() },
    });
  assert.equal(recordFrom(dayMs, 1_000), 1_000);
  assert.equal(recordFrom(dayMs, -1_000), 0, 'clocks differ a little');
  assert.equal(recordFrom(dayMs, -365 * dayMs), dayMs);
});
