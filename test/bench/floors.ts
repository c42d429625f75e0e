import { randomUUID } from 'node:crypto';
import { connectKafka } from '../../src/kafka/kafkajs/kafkajs-cluster.ts';
import { keyedRecord } from '../../src/kafka/record.ts';
import { systemClock } from '../../src/support/clock.ts';

/*
 * node test/bench/floors.ts PROVIDER BROKERS walk|events|prices
 *
 * What the parts of the work cost at least, each alone in this process: responses that are fetched and dropped;
 * `JSON.parse` of a response, inexact and without Avro; records that are committed by our own writer. CPU-seconds of all
 * threads per 1,000 instruments, events or prices, medians; one line of JSON.
 */

/** What is asked for, the list of a response, and what becomes of each item: so many records of so many bytes. */
const WORKS = {
  walk: { path: '/v1/instruments?limit=1000', list: 'instruments', records: 1, bytes: 3_000 },
  events: {
    path: '/v1/instruments/events?since=1700000000000-0&maxEvents=500',
    list: 'events',
    records: 2,
    bytes: 3_000,
  },
  prices: { path: '/v1/products/bulk', list: 'items', records: 1, bytes: 300 },
};
const ISINS = Array.from({ length: 500 }, (_, item) => ({ isin: `CH${String(item).padStart(10, '0')}` }));
const TIMES = 20;
const PARTITIONS = 6;
const [provider = '', brokers = '', name = ''] = process.argv.slice(2);
const work = WORKS[name as keyof typeof WORKS];
const silent = { debug() {}, info() {}, warn() {}, error() {} };

async function cpuSecondsOf(part: () => unknown): Promise<number> {
  const samples: number[] = [];
  for (let time = 0; time < TIMES; time++) {
    const before = process.cpuUsage();
    await part();
    const { user, system } = process.cpuUsage(before);
    samples.push((user + system) / 1e6);
  }
  samples.sort((a, b) => a - b);
  return samples[TIMES >> 1] ?? Number.NaN;
}

const request = () =>
  fetch(`${provider}${work.path}`, {
    ...(name === 'prices' && { method: 'POST', body: JSON.stringify({ items: ISINS }) }),
  });
const body = Buffer.from(await (await request()).arrayBuffer());
const items: number = JSON.parse(body.toString())[work.list].length;
const fetched = await cpuSecondsOf(async () => {
  const answer = await request();
  for await (const _chunk of answer.body ?? []);
});
const parsed = await cpuSecondsOf(() => JSON.parse(body.toString()));

const kafka = connectKafka({
  clientId: 'floors',
  brokers: brokers.split(','),
  clock: systemClock,
  random: Math.random,
  log: silent,
});
const topic = { name: `floors-${randomUUID()}`, partitions: PARTITIONS };
await kafka.ensureTopics([{ ...topic, replicationFactor: 1, settings: {} }], { create: true });
const writer = kafka.transactionalWriter(topic.name);
await writer.open(async () => {}, AbortSignal.timeout(60_000));
const headers = { 'spc-source': 'instruments', 'spc-walk': '1' };
const records = Array.from({ length: items * work.records }, (_, row) => {
  const at = (row * work.bytes) % Math.max(body.length - work.bytes, 1);
  return keyedRecord(topic, String(row), body.subarray(at, at + work.bytes), headers);
});
const produced = await cpuSecondsOf(() => writer.commit({ records }));
await kafka.close();
const per1000 = (seconds: number) => (seconds * 1_000) / items;
const floors = { fetch: per1000(fetched), parse: per1000(parsed), produce: per1000(produced) };
process.stdout.write(`${JSON.stringify(floors)}\n`);
