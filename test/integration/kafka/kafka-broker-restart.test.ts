import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writePagesThroughFaults } from '../../support/kafka/faulty-pages.ts';
import { connectOurs, createTopic } from '../../support/kafka/kafka-real.ts';
import { viewPartition } from '../../support/kafka/kafka-wire-log.ts';
import { ownKafkaOrSkip } from '../../support/kafka/stack.ts';

const KILLED_BEFORE_PAGE = 4;

test('a broker killed hard in mid-work, coordinator included, costs no record, doubles none and wedges nothing', async (t) => {
  const kafka = await ownKafkaOrSkip(t);
  if (!kafka) return;
  // Requests into a dead broker fail fast, so that the test does, and a slow machine may take minutes to start one; the
  // rest is as in production.
  const tuning = { requestTimeoutMs: 3_000, openGraceMs: 200_000 };
  const ours = connectOurs(t, { brokers: kafka.brokers, tuning });
  const [topic, offsets] = [(await createTopic(ours)).name, (await createTopic(ours)).name];
  let restarted: Promise<void> | undefined;
  const view = (name: string, partition: number) =>
    viewPartition({ broker: kafka.brokers[0] ?? '', topic: name, partition });
  await writePagesThroughFaults(t, {
    ...{ ours, topic, offsets, partitions: [0], pages: 10, recordsPerPage: 3, view, abortsHanging: true },
    beforePage(page) {
      if (page === KILLED_BEFORE_PAGE) restarted ??= kafka.kill().then(() => kafka.restart());
    },
  });
  assert.ok(restarted, 'the kill hit the work');
  await restarted;
});
