import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectKafka } from '../../../src/kafka/kafkajs/kafkajs-cluster.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { readCommitted } from '../../support/kafka/kafka-real.ts';
import { loadRawKafkajs } from '../../support/kafka/raw-kafkajs.ts';
import { ownKafkaOrSkip } from '../../support/kafka/stack.ts';
import { innerListeners } from '../../support/network/inner-listener.ts';
import { textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually, outcomeOf } from '../../support/runner/eventually.ts';

const [NODES, LOST] = [3, 3];
/** The brokers of each topic's one partition. */
const TOPICS = [
  { topic: 'positions', replicas: [1, 2] },
  { topic: 'rows', replicas: [LOST] },
];
const ABORT_HANGING = TOPICS.map(({ topic }) => ({ topic, partition: 0 }));
const PAGES = ['page 1', 'page 2', 'page 3'] as const;

/**
 * A commit is acknowledged before its markers are written. The only broker of the rows is lost in between; the coordinator
 * takes their partition, which has no leader, for deleted, and the transaction for complete. Meanwhile the writer cannot open.
 */
test('a page that was acknowledged just before the broker of its rows was lost is there once that broker is back', async (t) => {
  const inner = await innerListeners(NODES);
  t.after(() => Promise.all(inner.proxies.map((proxy) => proxy.close())));
  const kafka = await ownKafkaOrSkip(t, { nodes: NODES, settings: inner.settings });
  if (!kafka) return;
  const { Kafka, logLevel } = loadRawKafkajs();
  const admin = new Kafka({ brokers: kafka.brokers, clientId: 'raw', logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  t.after(() => admin.disconnect());
  for (const { topic, replicas } of TOPICS) {
    const replicaAssignment = [{ partition: 0, replicas }];
    await admin.createTopics({ waitForLeaders: false, topics: [{ topic, replicaAssignment }] });
  }
  const metadata = () => outcomeOf(admin.fetchTopicMetadata());
  await eventually('every partition has its leader', metadata, (outcome) => 'value' in outcome);

  const connect = () => {
    const silent = { debug() {}, info() {}, warn() {}, error() {} };
    const own = { brokers: kafka.brokers, clientId: 'ours', clock: systemClock, random: Math.random, log: silent };
    const cluster = connectKafka({ ...own, tuning: { requestTimeoutMs: 5_000 } });
    t.after(() => cluster.close());
    const writer = cluster.transactionalWriter('source', { abortHanging: () => ABORT_HANGING });
    const read = async (topic: string) => (await readCommitted(cluster, topic)).map(({ value }) => String(value));
    const commit = (page: string) =>
      writer.commit({ records: [textRecord('rows', page)], sourceOffset: textRecord('positions', page) });
    return { cluster, writer, read, commit };
  };
  const first = connect();
  await first.writer.open(async () => {}, t.signal);
  await first.commit(PAGES[0]);
  await eventually(
    'page 1 is seen',
    () => first.read('rows'),
    ({ length }) => length === 1,
  );

  const lost = Promise.withResolvers<void>();
  t.after(() => lost.resolve());
  const markers = { on: 'WriteTxnMarkers', fault: 'delayRequest', times: Number.POSITIVE_INFINITY } as const;
  inner.proxies[LOST - 1]?.addRule({ ...markers, until: lost.promise });
  await first.commit(PAGES[1]);
  await eventually(
    'the position of page 2 is seen',
    () => first.read('positions'),
    ({ length }) => length === 2,
  );
  await kafka.kill(LOST);
  inner.proxies[LOST - 1]?.clearRules();
  lost.resolve();
  const hasNoLeader = (outcome: object) => 'error' in outcome && /no leader/.test(String(outcome.error));
  await eventually('the rows have no leader', metadata, hasNoLeader);
  const refused = { code: 'KAFKA_UNREACHABLE', fields: { transactionalId: 'source', topics: ['rows'] } };
  await assert.rejects(
    first.writer.open(async () => {}, t.signal),
    refused,
  );
  await first.cluster.close();

  await kafka.restart(LOST);
  const next = connect();
  const open = () => outcomeOf(next.writer.open(() => next.read('positions'), t.signal));
  const opened = await eventually('another process opens', open, (outcome) => 'value' in outcome);
  assert.deepEqual(opened, { value: PAGES.slice(0, 2) });
  await next.commit(PAGES[2]);
  const rows = await eventually(
    'page 3 is seen',
    () => next.read('rows'),
    (seen) => seen.includes(PAGES[2]),
  );
  assert.deepEqual(rows, PAGES);
});
