import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectKafka, type KafkaOptions } from '../../src/kafka/kafkajs-cluster.ts';
import { systemClock } from '../../src/support/clock.ts';
import { createTopic, hookTransactions, readCommitted } from '../support/kafka-real.ts';
import { viewPartition } from '../support/kafka-wire-log.ts';
import { eventually } from '../support/raw-kafkajs-cluster.ts';
import { ownKafkaOrSkip } from '../support/stack.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
/** The tests' broker keeps all transactions in one partition. */
const TRANSACTIONS = ['broker-1', 'data', '__transaction_state-0'];
const ID = 'forgotten';

test('a page of a transaction that a killed coordinator has forgotten is written once, whole', async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'forgotten-'));
  t.after(() => rm(dataFolder, { recursive: true, force: true }));
  const kafka = await ownKafkaOrSkip(t, { dataFolder });
  if (!kafka) return;
  const connect = (more: Partial<KafkaOptions> = {}) => {
    const own = { brokers: kafka.brokers, clientId: ID, clock: systemClock, random: Math.random, log: silent };
    const cluster = connectKafka({ ...own, tuning: { requestTimeoutMs: 3_000, disconnectMs: 500 }, ...more });
    t.after(() => cluster.close());
    return cluster;
  };
  const heir = connect();
  const { name: offsets } = await createTopic(heir);
  const { name: rows } = await createTopic(heir, {}, 2);
  const settles = [
    { topic: offsets, partition: 0 },
    { topic: rows, partition: 0 },
    { topic: rows, partition: 1 },
  ];
  const page = (value: string) => {
    const [first, ...others] = settles.map((at) => ({
      ...at,
      key: Buffer.from('k'),
      value: Buffer.from(value),
      headers: {},
    }));
    return first ? [...others, first] : [];
  };
  const values = ({ topic, partition }: { readonly topic: string; readonly partition: number }) =>
    readCommitted(heir, topic, [partition]).then((records) => records.map(({ value }) => String(value)));
  const position = () => values({ topic: offsets, partition: 0 });
  const views = () => Promise.all(settles.map((at) => viewPartition({ broker: kafka.brokers[0] ?? '', ...at })));
  const isClosed = (all: Awaited<ReturnType<typeof views>>) =>
    all.every(({ lastStableOffset, highWatermark }) => lastStableOffset === highWatermark);

  const sent = Promise.withResolvers<void>();
  const killed = Promise.withResolvers<void>();
  let commits = 0;
  const wrap = hookTransactions({
    commit(commit) {
      if (commits++ === 0) return commit();
      sent.resolve();
      return killed.promise;
    },
  });
  const dying = connect({ wrap }).transactionalWriter(ID, { settles });
  await dying.open(position, t.signal);
  await dying.commit(page('page 1'));
  await eventually('page 1 is visible', position, (seen) => seen.length === 1);
  await systemClock.sleep(500);
  // All that the coordinator has written by now is what it will know after the kill.
  const [transactions, copy] = [join(dataFolder, ...TRANSACTIONS), join(dataFolder, 'copy')];
  await cp(transactions, copy, { recursive: true });
  const lost = assert.rejects(dying.commit(page('page 2')), { code: 'TRANSACTION_FAILED' });
  await sent.promise;
  await kafka.kill();
  killed.reject(new Error('the broker was killed'));
  await lost;
  await rm(transactions, { recursive: true });
  await cp(copy, transactions, { recursive: true });
  await kafka.restart();
  assert.equal(isClosed(await views()), false, 'page 2 hangs');

  const writer = heir.transactionalWriter(ID, { settles });
  assert.deepEqual(await writer.open(position, t.signal), ['page 1']);
  await eventually('nothing hangs any more', views, isClosed);
  await writer.commit(page('page 2'));
  for (const at of settles) {
    const seen = await eventually(
      'page 2 is there',
      () => values(at),
      (found) => found.length >= 2,
    );
    assert.deepEqual(seen, ['page 1', 'page 2'], `${at.topic === rows ? 'rows' : 'offsets'} ${at.partition}`);
  }
});
