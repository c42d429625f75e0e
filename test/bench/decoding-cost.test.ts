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
import { chunked, instrumentDecoder } from '../support/decoding/avro-decoding.ts';
import { oddBulkBodies, usualBulkBody } from '../support/decoding/bulk-variants.ts';
import {
  bulkDecoding,
  type DecodingCost,
  decodingCost,
  longestTurnMs,
  pageDecoding,
} from '../support/decoding/decoding-cost.ts';
import { oddPages, usualPage } from '../support/decoding/page-variants.ts';

// `node test/bench/decoding.ts` shows the figures: 1.1 to 1.5 for usual bodies, 2.4 for an odd one. These bounds leave
// room for a busy machine; the way through objects takes five to six times JSON.parse.
const MOST = { usual: 1.9, usualBulk: 1.9, odd: 3.5, walk: 3 };
const INSTRUMENTS = 300;
const ROUNDS = 5;
const ATTEMPTS = 4;

test('decoding costs little more than JSON.parse of the same page, and an odd page not much more', async () => {
  const page = await usualPage(INSTRUMENTS);
  await costsAtMost(page, pageDecoding(), MOST.usual);
  const odd = oddPages(page).get('an unknown object in each object') ?? assert.fail();
  await costsAtMost(odd, pageDecoding(), MOST.odd);
});

test('so does a bulk response', async () => {
  const usual = await usualBulkBody(INSTRUMENTS);
  await costsAtMost(usual.body, bulkDecoding(usual.isins), MOST.usualBulk);
  const { isins, body } = oddBulkBodies(usual).get('flat: no object within a response') ?? assert.fail();
  await costsAtMost(body, bulkDecoding(isins), MOST.odd);
});

/** What else the machine does, and when code is compiled, falls on one of both; so an attempt that misses is repeated. */
async function costsAtMost(body: Buffer, decode: ReturnType<typeof pageDecoding>, ratio: number): Promise<void> {
  const costs: DecodingCost[] = [];
  while (costs.length < ATTEMPTS && !costs.some((cost) => cost.ratio < ratio)) {
    costs.push(await decodingCost(body, decode, ROUNDS));
  }
  const isCheap = costs.some((cost) => cost.ratio < ratio);
  assert.ok(isCheap, JSON.stringify(costs));
}

test('a body that would grow a hundredfold in memory does not hold up other work for long', async () => {
  const rows = Array.from({ length: 40 }, () => `{"id":1,"underlyings":[${'{},'.repeat(160_000)}{}]}`);
  const body = `{"instruments":[${rows.join(',')},{"id":1,"u":[${'{},'.repeat(10_000_000)}{}]}]}`;
  const decoder = instrumentDecoder({ maxValueBytes: 1_000_000 });
  const turnMs = (page: string) => longestTurnMs(async () => void (await decoder.decode(chunked(page, 1 << 20))));
  // How quick this machine is: no turn can be shorter than one of these rows.
  const one = `{"instruments":[${rows[0]}]}`;
  const ofOneRowMs = Math.max(await turnMs(one), await turnMs(one));
  const ofAllMs = Math.min(await turnMs(body), await turnMs(body));
  assert.ok(ofAllMs < 5 * ofOneRowMs, `a turn took ${ofAllMs} ms, and one row ${ofOneRowMs} ms`);
});

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
    const written = sorted.write.flatMap((position) => rows[position] ?? []);
    const records = rowRecords(written, targets, headers);
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

test('a page of a walk costs at most three times its JSON.parse, from its bytes to packed batches', async () => {
  const page = await usualPage(INSTRUMENTS);
  const walk = pageOfWalk();
  assert.equal((await walk(chunked(page, 65_536))).records, INSTRUMENTS);
  await costsAtMost(page, walk, MOST.walk);
});
