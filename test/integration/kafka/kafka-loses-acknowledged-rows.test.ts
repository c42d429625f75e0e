import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Transaction } from 'kafkajs';
import type { KafkajsOptions } from '../../../src/kafka/kafkajs/kafkajs-cluster.ts';
import { connectOurs, hookTransactions, readCommitted } from '../../support/kafka/kafka-real.ts';
import { placeTopics, rawAdmin } from '../../support/kafka/placed-topics.ts';
import { ownKafkaOrSkip } from '../../support/kafka/stack.ts';
import { innerListeners } from '../../support/network/inner-listener.ts';
import { textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually, outcomeOf } from '../../support/runner/eventually.ts';

const [NODES, LOST] = [3, 3];
/** The brokers of each topic's one partition. */
const TOPICS = [
  { topic: 'positions', replicas: [[1, 2]] },
  { topic: 'rows', replicas: [[LOST]] },
  { topic: 'shared-positions', replicas: [[1, 2]] },
  { topic: 'cut-rows', replicas: [[LOST]] },
  { topic: 'other-rows', replicas: [[2, 1]] },
  { topic: 'busy-positions', replicas: [[1, 2]] },
  { topic: 'busy-rows', replicas: [[LOST]] },
];
const partitions = (...topics: string[]) => topics.map((topic) => ({ topic, partition: 0 }));
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
  const { admin } = await rawAdmin(t, kafka.brokers);
  await placeTopics(admin, TOPICS);

  const connect = (more: Partial<KafkajsOptions> = {}) => {
    const tuning = { requestTimeoutMs: 5_000, maxRoundBytes: 1 };
    const cluster = connectOurs(t, { brokers: kafka.brokers, tuning, ...more });
    const writer = cluster.transactionalWriter('source', { abortHanging: () => partitions('positions', 'rows') });
    const read = async (topic: string) => (await readCommitted(cluster, topic)).map(({ value }) => String(value));
    const commit = (page: string) =>
      writer.commit({ records: [textRecord('rows', page)], sourceOffset: textRecord('positions', page) });
    const shows = (topic: string, count: number) =>
      eventually(
        `${topic} shows ${count}`,
        () => read(topic),
        ({ length }) => length === count,
      );
    return { cluster, writer, read, shows, commit };
  };
  const first = connect();
  await first.writer.open(async () => {}, t.signal);
  await first.commit(PAGES[0]);
  await first.shows('rows', 1);

  // Two sources share a writer; the page of one is cut off behind its rows.
  let isCut = false;
  const send = (really: () => ReturnType<Transaction['send']>, _call: number, topics: readonly string[]) =>
    isCut && topics.includes('shared-positions') ? Promise.reject(new Error('cut off')) : really();
  const shared = connect({ wrap: hookTransactions({ send }) });
  let running = ['cut-rows', 'other-rows'];
  const abortHanging = () => partitions('shared-positions', ...running);
  const sharedWriter = shared.cluster.transactionalWriter('shared', { abortHanging });
  const openShared = () => outcomeOf(sharedWriter.open(() => shared.read('shared-positions'), t.signal));
  const page = (rows: string) => ({
    records: [textRecord(rows, 'its page')],
    sourceOffset: textRecord('shared-positions', rows),
  });
  await openShared();
  isCut = true;
  await assert.rejects(sharedWriter.commit(page('cut-rows')), { code: 'TRANSACTION_FAILED' });
  isCut = false;

  // A source that has the next page ready when the last one is acknowledged.
  const busyWriter = shared.cluster.transactionalWriter('busy', {
    abortHanging: () => partitions('busy-positions', 'busy-rows'),
  });
  const openBusy = () => outcomeOf(busyWriter.open(() => shared.read('busy-positions'), t.signal));
  const commitBusy = (text: string) =>
    busyWriter.commit({ records: [textRecord('busy-rows', text)], sourceOffset: textRecord('busy-positions', text) });
  await openBusy();

  const lost = Promise.withResolvers<void>();
  t.after(() => lost.resolve());
  const markers = { on: 'WriteTxnMarkers', fault: 'delayRequest', times: Number.POSITIVE_INFINITY } as const;
  inner.proxies[LOST - 1]?.addRule({ ...markers, until: lost.promise });
  await first.commit(PAGES[1]);
  await first.shows('positions', 2);
  await commitBusy(PAGES[0]);
  await shared.shows('busy-positions', 1);
  // Its next transaction waits for the markers of this one.
  const refused = assert.rejects(commitBusy(PAGES[1]), { code: 'TRANSACTION_FAILED' });
  await kafka.kill(LOST);
  inner.proxies[LOST - 1]?.clearRules();
  lost.resolve();
  const hasNoLeader = (outcome: object) => 'error' in outcome && /no leader/.test(String(outcome.error));
  await eventually('the rows have no leader', () => outcomeOf(admin.fetchTopicMetadata()), hasNoLeader);
  // It was quiet meanwhile, and has the next page now.
  await assert.rejects(first.commit(PAGES[2]), { code: 'TRANSACTION_FAILED' });
  const opening = first.writer.open(async () => {}, t.signal);
  await assert.rejects(opening, { code: 'KAFKA_UNREACHABLE' });
  await first.cluster.close();
  await refused;
  assert.ok('error' in (await openShared()));
  running = ['other-rows'];
  // Kafka 3.9 and 4.0 keep the transaction open until the broker is back.
  if ('value' in (await openShared())) await sharedWriter.commit(page('other-rows'));

  await kafka.restart(LOST);
  const next = connect();
  const open = () => outcomeOf(next.writer.open(() => next.read('positions'), t.signal));
  const opened = await eventually('another process opens', open, (outcome) => 'value' in outcome);
  assert.deepEqual(opened, { value: PAGES.slice(0, 2) });
  await next.commit(PAGES[2]);
  const rowsSeen = () => next.read('rows');
  const rows = await eventually('page 3 is seen', rowsSeen, (seen) => seen.includes(PAGES[2]));
  assert.deepEqual(rows, PAGES);

  running = ['cut-rows', 'other-rows'];
  await eventually('the shared writer opens for both sources', openShared, (outcome) => 'value' in outcome);
  await sharedWriter.commit(page('cut-rows'));
  const cutSeen = () => shared.read('cut-rows');
  const cutRows = await eventually('the page that was cut off is seen', cutSeen, ({ length }) => length > 0);
  assert.deepEqual(cutRows, ['its page']);

  const busy = await eventually('the busy source goes on', openBusy, (outcome) => 'value' in outcome);
  assert.deepEqual(busy, { value: [PAGES[0]] });
  await commitBusy(PAGES[1]);
  const busySeen = () => shared.read('busy-rows');
  const busyRows = await eventually('its next page is seen', busySeen, (seen) => seen.includes(PAGES[1]));
  assert.deepEqual(busyRows, PAGES.slice(0, 2));
});
