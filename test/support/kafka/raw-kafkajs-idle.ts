/**
 * A program for one test: opens one transactional producer, raw or ours, lets it idle, and prints the processor time and
 * the warnings as JSON. Arguments: `raw` or `ours`, the brokers as `host:port,host:port`, milliseconds.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectKafka } from '../../../src/kafka/kafkajs/kafkajs-cluster.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { loadRawKafkajs } from './raw-kafkajs.ts';

/** What the start left to do is done after this. */
const SETTLE_MS = 300;

/** @returns how to close it. */
async function openRaw(brokers: string[]): Promise<() => Promise<void>> {
  const raw = loadRawKafkajs();
  const kafka = new raw.Kafka({ brokers, logLevel: raw.logLevel.NOTHING });
  const producer = kafka.producer({ transactionalId: `idle-${randomUUID()}`, maxInFlightRequests: 1 });
  await producer.connect();
  const transaction = await producer.transaction();
  await transaction.abort();
  return () => producer.disconnect();
}

/** @returns how to close it. */
async function openOurs(brokers: string[]): Promise<() => Promise<void>> {
  const silent = () => undefined;
  const cluster = connectKafka({
    brokers,
    clientId: `idle-${randomUUID()}`,
    clock: systemClock,
    random: () => 0.5,
    log: { debug: silent, info: silent, warn: silent, error: silent },
  });
  await cluster.transactionalWriter(`idle-${randomUUID()}`).open(async () => undefined, AbortSignal.timeout(600_000));
  return () => cluster.close();
}

const [, , client, given = '', idleMs] = process.argv;
const brokers = given.split(',');
const warnings: string[] = [];
process.on('warning', (warning) => warnings.push(warning.name));
const close = client === 'raw' ? await openRaw(brokers) : await openOurs(brokers);
await sleep(SETTLE_MS);
const before = process.cpuUsage();
await sleep(Number(idleMs));
const used = process.cpuUsage(before);
await close();
process.stdout.write(JSON.stringify({ cpuMs: Math.round((used.user + used.system) / 1_000), warnings }));
