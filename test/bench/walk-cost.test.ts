import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BufferPool, encodeProduceRequest } from '../../src/kafka/kafkajs/produce/produce-request.ts';
import { RecordBatchWriter } from '../../src/kafka/kafkajs/produce/record-batch.ts';
import { planRounds } from '../../src/kafka/kafkajs/send-plan.ts';
import { DEFAULT_TUNING } from '../../src/kafka/kafkajs/tuning.ts';
import { readSchemaText } from '../../src/records/avro/schema-files.ts';
import { createPageDecoder } from '../../src/records/decoding/page-decoder.ts';
import { rowFacts, rowRecords } from '../../src/sources/tasks/instrument-records.ts';
import { Census } from '../../src/sources/walk/census.ts';
import { recordRows, sortRows } from '../../src/sources/walk/page-rows.ts';
import { systemClock } from '../../src/support/clock.ts';
import { chunked } from '../support/decoding/avro-decoding.ts';
import { type DecodingCost, decodingCost } from '../support/decoding/decoding-cost.ts';
import { usualPage } from '../support/decoding/page-variants.ts';

/** What a walk may cost in all, as a multiple of `JSON.parse` of its pages. Here it has no sockets. */
const MOST = 3;
const INSTRUMENTS = 300;
const ROUNDS = 5;
const ATTEMPTS = 4;
const ZSTD = 4;
const PRODUCER = { transactionalId: 'spc-sources-0', producerId: 4_000n, producerEpoch: 1, timeoutMs: 30_000 };

/** What becomes of a page of new instruments in a walk: decoded, compared with the census, in batches, packed. */
function pageOfWalk(): (body: AsyncIterable<Uint8Array>) => Promise<{ readonly records: number }> {
  const decoder = createPageDecoder({
    schema: readSchemaText('Instrument'),
    schemaId: 7,
    listKey: 'instruments',
    onMismatch: 'deadLetter',
    clock: systemClock,
  });
  const topic = (name: string) => ({ name, partitions: 6 });
  const targets = {
    source: 'instruments',
    instruments: topic('instruments'),
    instrumentEvents: topic('instrument-events'),
    deadLetters: topic('dead-letters'),
    notifications: topic('notifications'),
  };
  const headers = { 'spc-source': 'instruments', 'spc-endpoint': '/v1/instruments', 'spc-walk': '1' };
  const [writer, pool] = [new RecordBatchWriter(), new BufferPool()];
  return async (body) => {
    const { rows } = await decoder.decode(body);
    const facts = rowFacts(rows);
    const census = new Census();
    const sorted = sortRows({ minId: null, rows: facts }, new Set(), census, null);
    const records = rowRecords(
      sorted.write.flatMap((position) => rows[position] ?? []),
      targets,
      headers,
    );
    for (const round of planRounds({ records }, DEFAULT_TUNING)) {
      const topics = round.map(({ topic, partition, records }) => ({
        topic,
        partitions: [{ partition, firstSequence: 0, records }],
      }));
      const request = { ...PRODUCER, codec: ZSTD, timestampMs: 1_790_000_000_000, topics };
      pool.giveBack((await encodeProduceRequest(request, writer, pool)).buffer);
    }
    recordRows(facts, sorted, census);
    return { records: records.length };
  };
}

test('a page of a walk costs at most three times its JSON.parse, from its bytes to packed batches', async (t) => {
  const page = await usualPage(INSTRUMENTS);
  const walk = pageOfWalk();
  assert.equal((await walk(chunked(page, 65_536))).records, INSTRUMENTS);
  const costs: DecodingCost[] = [];
  const isMet = () => costs.some(({ ratio }) => ratio <= MOST);
  // What else the machine does falls on one of both; so an attempt that misses is repeated.
  while (costs.length < ATTEMPTS && !isMet()) costs.push(await decodingCost(page, walk, ROUNDS));
  t.diagnostic(costs.map(({ ratio }) => ratio.toFixed(2)).join(', '));
  assert.ok(isMet(), JSON.stringify(costs));
});
