import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Admin } from 'kafkajs';
import { ConnectorError } from '../../../src/errors.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { TransactionalWriter } from '../../../src/kafka/transactional-writer.ts';
import { connectOurs, readCommitted } from '../../support/kafka/kafka-real.ts';
import { placeTopics, rawAdmin } from '../../support/kafka/placed-topics.ts';
import { ownKafkaOrSkip } from '../../support/kafka/stack.ts';
import { textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually, outcomeOf } from '../../support/runner/eventually.ts';

const LOST = 3;
/** The brokers of each topic's one partition, and how many of them have to be there for a write. */
const TOPICS = [
  { topic: 'positions', replicas: [[1, 2, LOST]], inSync: 2 },
  { topic: 'rows', replicas: [[1, LOST]], inSync: 2 },
  { topic: 'others', replicas: [[2, 1]], inSync: 1 },
  { topic: 'theirs', replicas: [[LOST]], inSync: 1 },
];
const PAGES_BEFORE = 3;
const PAGES = 8;
const PATIENCE_MS = 300_000;
const pageTexts = (pages: number) => Array.from({ length: pages }, (_, page) => `page ${page}`);

test('one of three brokers is lost: what has too few replicas waits and skips nothing, and all else goes on', async (t) => {
  const kafka = await ownKafkaOrSkip(t, { nodes: 3 });
  if (!kafka) return;
  // It takes a missing leader anywhere for a failure of its own.
  const { admin } = await rawAdmin(t, kafka.brokers);
  await placeTopics(admin, TOPICS);
  const refusals: unknown[] = [];
  const log = { debug() {}, info() {}, warn: (...said: unknown[]) => void refusals.push(said), error() {} };
  // Requests that wait for the lost broker end soon, so that the test does; the rest is as in production.
  const cluster = connectOurs(t, { brokers: kafka.brokers, log, tuning: { requestTimeoutMs: 3_000 } });
  const rows = () => readTexts(cluster, 'rows');
  const abortHanging = ['positions', 'rows'].map((topic) => ({ topic, partition: 0 }));
  const source = cluster.transactionalWriter('source', { abortHanging: () => abortHanging });
  await writePages(cluster, source, PAGES_BEFORE, t.signal);

  // The end of a transaction that nobody has seen yet would have to wait for the replica as well.
  await eventually('all pages are seen', rows, (seen) => seen.length === PAGES_BEFORE);

  await kafka.kill(LOST);
  refusals.length = 0;
  let isWritten = false;
  const writing = writePages(cluster, source, PAGES, t.signal).finally(() => {
    isWritten = true;
  });
  writing.catch(() => {});
  await untilLeaderless(admin);
  const refused = () => refusals.length;
  await eventually('the source is refused', refused, (count) => count > 1);
  assert.deepEqual(await rows(), pageTexts(PAGES_BEFORE));

  // Of all topics in the cluster one has no leader; a client without need of it goes on.
  const others = { name: 'others', partitions: 1, replicationFactor: 2, settings: {} };
  await untilReached(() => cluster.ensureTopics([others], { create: false }));
  const place = { groupId: 'others-read', topic: 'others', partition: 0 };
  const position = async (signal: AbortSignal) =>
    (await cluster.consumerOffset(place.groupId, place, signal))?.offset ?? null;
  const other = cluster.transactionalWriter('other');
  const goOn = async () => {
    const reached = await other.open(position, t.signal);
    if (reached === null)
      await outcomeOf(
        other.commit({ records: [textRecord('others', 'goes on')], consumerOffset: { ...place, offset: 7n } }),
      );
    return reached;
  };
  await eventually('the other goes on', goOn, (reached) => reached === 7n);
  await untilLeaderless(admin);
  assert.deepEqual(await rows(), pageTexts(PAGES_BEFORE));
  assert.equal(isWritten, false);

  await kafka.restart(LOST);
  const backMs = performance.now();
  await writing;
  t.diagnostic(`written ${Math.round(performance.now() - backMs)} ms after the broker was back`);
  const seen = await eventually('all is seen', rows, ({ length }) => length >= PAGES);
  assert.deepEqual(seen, pageTexts(PAGES));
  const positions = async () => (await readTexts(cluster, 'positions')).length;
  assert.equal(await eventually('all positions are seen', positions, (count) => count >= PAGES), PAGES);
});

async function readTexts(cluster: KafkaCluster, topic: string): Promise<string[]> {
  const records = await untilReached(() => readCommitted(cluster, topic));
  return records.map(({ value }) => String(value));
}

/** Asks again where that is what the error says: for a while, the other brokers still name the lost one as theirs. */
async function untilReached<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const isToBeRetried = error instanceof ConnectorError && error.action === 'retry';
      if (!isToBeRetried || performance.now() > deadline) throw error;
    }
  }
}

async function untilLeaderless(admin: Admin): Promise<void> {
  const hasNoLeader = (outcome: object) => 'error' in outcome && /no leader/.test(String(outcome.error));
  await eventually('one has no leader', () => outcomeOf(admin.fetchTopicMetadata()), hasNoLeader);
}

/** As a source does it: whatever fails, open again, read what is committed, and go on from there. */
async function writePages(
  cluster: KafkaCluster,
  writer: TransactionalWriter,
  pages: number,
  signal: AbortSignal,
): Promise<void> {
  const position = async () => (await readCommitted(cluster, 'positions')).length;
  for (;;) {
    try {
      for (let next = await writer.open(position, signal); next < pages; next++) {
        await writer.commit({
          records: [textRecord('rows', `page ${next}`)],
          sourceOffset: textRecord('positions', `page ${next}`),
        });
      }
      return;
    } catch {
      signal.throwIfAborted();
    }
  }
}
