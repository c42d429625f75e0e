import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { connectKafka } from '../../../src/kafka/kafkajs/kafkajs-cluster.ts';
import type { TransactionalWriter } from '../../../src/kafka/transactional-writer.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { createTopic, readCommitted } from '../../support/kafka/kafka-real.ts';
import { ownKafkaOrSkip } from '../../support/kafka/stack.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const PAGES_BEFORE = 5;
const PAGES_AFTER = 10;
/** Of a slow machine; a writer that is stuck never recovers. */
const LONGEST_RECOVERY_MS = 300_000;

test('a broker killed hard in mid-work, coordinator included, costs no record, doubles none and wedges nothing', async (t) => {
  const kafka = await ownKafkaOrSkip(t);
  if (!kafka) return;
  const options = { brokers: kafka.brokers, clientId: 'restart', clock: systemClock, random: Math.random, log: silent };
  // Requests into a dead broker fail fast, so that the test does, and a slow machine may take minutes to start one; the
  // rest is as in production.
  const cluster = connectKafka({ ...options, tuning: { requestTimeoutMs: 3_000, openGraceMs: 200_000 } });
  t.after(() => cluster.close());
  const { name } = await createTopic(cluster);
  const writer = cluster.transactionalWriter(`${name}-writer`, { abortHanging: () => [{ topic: name, partition: 0 }] });
  const restarted = Promise.withResolvers<number>();
  let kills = 0;
  let workingAtMs: number | undefined;

  const committed = await writePages(cluster, name, writer, async (page, hasFailed) => {
    if (page === PAGES_BEFORE && kills++ === 0) {
      kafka
        .kill()
        .then(() => kafka.restart())
        .then(() => restarted.resolve(performance.now()), restarted.reject);
    }
    if (hasFailed) workingAtMs = performance.now();
  });
  const recoveredMs = (workingAtMs ?? 0) - (await restarted.promise);
  assert.ok(workingAtMs !== undefined, 'the kill hit the work');
  assert.ok(recoveredMs < LONGEST_RECOVERY_MS, `${recoveredMs} ms`);
  assert.deepEqual(committed, pageValues(PAGES_BEFORE + PAGES_AFTER));
  t.diagnostic(`working again ${Math.round(recoveredMs)} ms after the broker was ready`);
});

function pageValues(pages: number): string[] {
  return Array.from({ length: pages }, (_, page) => `page ${page}`);
}

/** The loop of a source: whatever fails, open again, read what is committed, and go on from there. */
async function writePages(
  cluster: KafkaCluster,
  topic: string,
  writer: TransactionalWriter,
  onPage: (page: number, hasFailed: boolean) => Promise<void>,
): Promise<string[]> {
  const signal = AbortSignal.timeout(1_200_000);
  const values = async () => (await readCommitted(cluster, topic)).map(({ value }) => String(value));
  let next = (await writer.open(values, signal)).length;
  let hasFailed = false;
  while (next < PAGES_BEFORE + PAGES_AFTER) {
    await onPage(next, hasFailed);
    hasFailed = false;
    const [value = ''] = pageValues(next + 1).slice(-1);
    try {
      await writer.commit({ records: [{ topic, partition: 0, key: null, value: Buffer.from(value), headers: {} }] });
      next += 1;
    } catch {
      hasFailed = true;
      next = (await writer.open(values, signal)).length;
    }
  }
  return writer.open(values, signal);
}
