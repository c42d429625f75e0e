import { randomUUID } from 'node:crypto';
import { connectKafka } from '../../src/kafka/kafkajs/kafkajs-cluster.ts';
import { keyedRecord } from '../../src/kafka/target-topic.ts';
import { systemClock } from '../../src/support/clock.ts';

/*
 * node test/bench/floors.ts PROVIDER BROKERS
 *
 * What the parts of a walk cost at least, each alone in this process: pages that are fetched and dropped; `JSON.parse` of a
 * page, inexact and without Avro; records of 3 KB that are committed by our own writer. CPU-seconds of all threads per
 * 1,000 instruments, medians; one line of JSON.
 */

const PAGES = 20;
const VALUE_BYTES = 3_000;
const PARTITIONS = 6;
const [provider = '', brokers = ''] = process.argv.slice(2);
const silent = { debug() {}, info() {}, warn() {}, error() {} };

async function cpuSecondsOf(work: () => unknown): Promise<number> {
  const samples: number[] = [];
  for (let page = 0; page < PAGES; page++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    samples.push((user + system) / 1e6);
  }
  samples.sort((a, b) => a - b);
  return samples[PAGES >> 1] ?? Number.NaN;
}

const page = `${provider}/v1/instruments?limit=1000`;
const body = Buffer.from(await (await fetch(page)).arrayBuffer());
const fetched = await cpuSecondsOf(async () => {
  const answer = await fetch(page);
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
const records = Array.from({ length: 1_000 }, (_, row) =>
  keyedRecord(topic, String(row), body.subarray(row * 8_000, row * 8_000 + VALUE_BYTES), headers),
);
const produced = await cpuSecondsOf(() => writer.commit({ records }));
await kafka.close();
process.stdout.write(`${JSON.stringify({ fetch: fetched, parse: parsed, produce: produced })}\n`);
