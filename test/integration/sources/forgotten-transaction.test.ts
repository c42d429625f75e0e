import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectKafka, type KafkajsOptions } from '../../../src/kafka/kafkajs/kafkajs-cluster.ts';
import type { WriterOptions } from '../../../src/kafka/transactional-writer.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { createTopic, hookTransactions, readCommitted } from '../../support/kafka/kafka-real.ts';
import { viewPartition } from '../../support/kafka/kafka-wire-log.ts';
import { ownKafkaOrSkip } from '../../support/kafka/stack.ts';
import { eventually } from '../../support/runner/eventually.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
/** The tests' broker keeps all transactions in one partition, and all consumer offsets in another. */
const TRANSACTIONS_TOPIC = '__transaction_state';
const TRANSACTIONS = ['broker-1', 'data', `${TRANSACTIONS_TOPIC}-0`];
/** In what the coordinator writes about a transaction: behind version, producer id, epoch and time-out. */
const STATE_AT = 2 + 8 + 2 + 4;
const COMPLETE_COMMIT = 4;
const CONSUMER_OFFSETS = { topic: '__consumer_offsets', partition: 0 };
const PAGES = ['page 1', 'page 2'] as const;

type Settled = ReturnType<Required<WriterOptions>['abortHanging']>;

test('a page of a transaction that a killed coordinator has forgotten is written once, whole', async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'forgotten-'));
  t.after(() => rm(dataFolder, { recursive: true, force: true }));
  const kafka = await ownKafkaOrSkip(t, { dataFolder });
  if (!kafka) return;
  const connect = (more: Partial<KafkajsOptions> = {}) => {
    const own = { brokers: kafka.brokers, clientId: 'test', clock: systemClock, random: Math.random, log: silent };
    const cluster = connectKafka({ ...own, tuning: { requestTimeoutMs: 3_000, disconnectMs: 500 }, ...more });
    t.after(() => cluster.close());
    return cluster;
  };
  const heir = connect();
  const values = ({ topic, partition }: Settled[number]) =>
    readCommitted(heir, topic, [partition]).then((records) => records.map(({ value }) => String(value)));
  const isVisible = async (abortHanging: Settled, pages: readonly string[]) => {
    for (const at of abortHanging) {
      const seen = await eventually(
        `${pages.at(-1)} is there`,
        () => values(at),
        (found) => found.length >= pages.length,
      );
      assert.deepEqual(seen, pages, `${at.topic} ${at.partition}`);
    }
  };

  /** Writes as a source does: the position is the newest record of the first partition. */
  const source = async (id: string) => {
    const [offsets, rows] = [await createTopic(heir), await createTopic(heir, {}, 2)];
    const [first, ...others] = [
      { topic: offsets.name, partition: 0 },
      { topic: rows.name, partition: 0 },
      { topic: rows.name, partition: 1 },
    ] as const;
    const abortHanging = [first, ...others];
    const position = async () => (await values(first)).length;
    return {
      id,
      options: { abortHanging: () => abortHanging },
      written: [...others, first],
      isSource: true,
      offset: () => undefined,
      position,
    };
  };
  /** Writes as the price processor does: the position is a consumer offset. */
  const processor = async () => {
    const [prices, letters, input] = [await createTopic(heir), await createTopic(heir), await createTopic(heir)];
    const abortHanging = [prices, letters].map(({ name }) => ({ topic: name, partition: 0 }));
    const abortHangingOffset = { groupId: 'prices', topic: input.name, partition: 0 };
    const offset = (page: number) => ({ ...abortHangingOffset, offset: BigInt(page) });
    const position = async () => Number((await heir.consumerOffset('prices', abortHangingOffset, t.signal)) ?? 0n);
    return {
      id: 'processor',
      options: { abortHanging: () => abortHanging, abortHangingOffset },
      written: abortHanging,
      isSource: false,
      offset,
      position,
    };
  };
  // The last one is cut off before it has sent the record of its position: nothing hangs in that partition.
  const writers = [await source('source'), await processor(), await source('cut off')];
  const cutOff = writers.at(-1)?.written.at(-1)?.topic;
  const commit = (writer: ReturnType<typeof heir.transactionalWriter>, index: number, page: number) => {
    const { written = [], isSource = false, offset = () => undefined } = writers[index] ?? {};
    const value = Buffer.from(PAGES[page - 1] ?? '');
    const records = written.map((at) => ({ ...at, key: Buffer.from('k'), value, headers: {} }));
    const sourceOffset = isSource ? records.pop() : undefined;
    return writer.commit({ records, sourceOffset, consumerOffset: offset(page) });
  };
  /** In how many partitions a transaction is open. */
  const hanging = async () => {
    const all = [...writers.flatMap(({ written }) => written), CONSUMER_OFFSETS];
    const views = await Promise.all(all.map((at) => viewPartition({ broker: kafka.brokers[0] ?? '', ...at })));
    return views.filter(({ lastStableOffset, highWatermark }) => lastStableOffset < highWatermark).length;
  };
  const transactionStates = async () => {
    const written = await readCommitted(heir, TRANSACTIONS_TOPIC);
    return [...new Map(written.map(({ key, value }) => [String(key), value?.readInt8(STATE_AT)])).values()];
  };
  const isComplete = (state: unknown) => state === COMPLETE_COMMIT;
  const isNone = (count: number) => count === 0;

  const sent = Promise.withResolvers<void>();
  const killed = Promise.withResolvers<never>();
  let page = 1;
  let arrived = 0;
  const stand = () => {
    arrived += 1;
    if (arrived === writers.length) sent.resolve();
    return killed.promise;
  };
  const wrap = hookTransactions({
    send: (really, _call, topics) => (page === 2 && topics.some((topic) => topic === cutOff) ? stand() : really()),
    commit: (really) => (page === 2 ? stand() : really()),
  });
  const dying = connect({ wrap, tuning: { maxRoundBytes: 1 } });
  const opened = writers.map(({ id, options }) => dying.transactionalWriter(id, options));
  for (const [index, writer] of opened.entries()) {
    await writer.open(async () => {}, t.signal);
    await commit(writer, index, 1);
  }
  for (const { written } of writers) await isVisible(written, ['page 1']);
  await eventually('nothing is open', hanging, isNone);
  // The coordinator writes down that a transaction has ended, after all its partitions know.
  const isDone = (states: readonly unknown[]) => states.length === writers.length && states.every(isComplete);
  await eventually('the coordinator is done', transactionStates, isDone);
  // All that it has written by now is what it will know after the kill.
  const [transactions, copy] = [join(dataFolder, ...TRANSACTIONS), join(dataFolder, 'copy')];
  await cp(transactions, copy, { recursive: true });
  page = 2;
  const lost = opened.map((writer, index) => assert.rejects(commit(writer, index, 2), { code: 'TRANSACTION_FAILED' }));
  await sent.promise;
  await kafka.kill();
  killed.reject(new Error('the broker was killed'));
  await Promise.all(lost);
  await rm(transactions, { recursive: true });
  await cp(copy, transactions, { recursive: true });
  await kafka.restart();
  assert.equal(await hanging(), 8, 'page 2 hangs wherever it was sent, and its consumer offset too');

  const again = writers.map(({ id, options }) => heir.transactionalWriter(id, options));
  for (const [index, writer] of again.entries()) {
    assert.equal(await writer.open(writers[index]?.position ?? (async () => 0), t.signal), 1);
  }
  await eventually('nothing hangs any more', hanging, isNone);
  for (const [index, writer] of again.entries()) await commit(writer, index, 2);
  for (const { written } of writers) await isVisible(written, PAGES);
  for (const { position } of writers)
    await eventually('the position is that of page 2', position, (page) => page === 2);
});
