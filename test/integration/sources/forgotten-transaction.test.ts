import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { KafkajsOptions } from '../../../src/kafka/kafkajs/kafkajs-cluster.ts';
import type { WriterOptions } from '../../../src/kafka/transactional-writer.ts';
import { readWanted, requestState, requestWalk } from '../../../src/run/state-operation.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { connectOurs, createTopic, hookTransactions, readCommitted } from '../../support/kafka/kafka-real.ts';
import { viewPartition } from '../../support/kafka/kafka-wire-log.ts';
import { ownKafkaOrSkip } from '../../support/kafka/stack.ts';
import { innerListeners } from '../../support/network/inner-listener.ts';
import { eventually } from '../../support/runner/eventually.ts';
import { temporaryFolder } from '../../support/runner/temporary-folder.ts';

/** The tests' broker keeps all transactions in one partition, and all consumer offsets in another. */
const TRANSACTIONS_TOPIC = '__transaction_state';
const TRANSACTIONS = { topic: TRANSACTIONS_TOPIC, partition: 0 };
/** In what the coordinator writes about a transaction: behind version, producer id, epoch and time-out. */
const STATE_AT = 2 + 8 + 2 + 4;
const COMPLETE_COMMIT = 4;
const CONSUMER_OFFSETS = { topic: '__consumer_offsets', partition: 0 };
const PAGES = ['page 1', 'page 2', 'page 3', 'page 4'] as const;

type Settled = ReturnType<Required<WriterOptions>['abortHanging']>;

/**
 * First the coordinator forgets page 2: it knows page 1 as committed. Then the partitions lose what ended page 3, which the
 * coordinator knows as committed.
 */
test('pages whose end a killed coordinator or their partitions have lost are written once, whole', async (t) => {
  const dataFolder = temporaryFolder(t);
  const inner = await innerListeners(1);
  t.after(() => Promise.all(inner.proxies.map((proxy) => proxy.close())));
  const kafka = await ownKafkaOrSkip(t, { dataFolder, settings: inner.settings });
  if (!kafka) return;
  const connect = (more: Partial<KafkajsOptions> = {}) => {
    const tuning = { requestTimeoutMs: 3_000, disconnectMs: 500 };
    return connectOurs(t, { brokers: kafka.brokers, tuning, ...more });
  };
  const heir = connect();
  const values = ({ topic, partition }: Settled[number]) =>
    readCommitted(heir, topic, [partition]).then((records) => records.map(({ value }) => String(value)));
  const isVisible = async (abortHanging: Settled, page: number) => {
    const pages = PAGES.slice(0, page);
    for (const at of abortHanging) {
      const there = () => values(at);
      const seen = await eventually(`${pages.at(-1)} is there`, there, (found) => found.length >= pages.length);
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
    const position = async () => {
      let pages = 0;
      const onRecord = () => {
        pages += 1;
      };
      const of = { topic: first.topic, partitions: [0], toHighWatermark: true };
      await heir.logReader.readToEnd({ ...of, onRecord, signal: t.signal });
      return pages;
    };
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
    const position = async () =>
      Number((await heir.consumerOffset('prices', abortHangingOffset, t.signal))?.offset ?? 0n);
    return {
      id: 'processor',
      options: { abortHanging: () => abortHanging, abortHangingOffset },
      written: abortHanging,
      isSource: false,
      offset,
      position,
    };
  };
  // The third one is cut off before it has sent the record of its position: nothing hangs in that partition.
  const writers = [await source('source'), await processor(), await source('cut off'), await source('third')];
  const CUT_OFF = 2;
  const cutOff = writers[CUT_OFF]?.written.at(-1)?.topic;
  const commit = (
    writer: ReturnType<typeof heir.transactionalWriter>,
    index: number,
    page: number,
    part?: 'position' | 'records',
  ) => {
    const { written = [], isSource = false, offset = () => undefined } = writers[index] ?? {};
    const value = Buffer.from(PAGES[page - 1] ?? '');
    const records = written.map((at) => ({ ...at, key: Buffer.from('k'), value, headers: {} }));
    const position = { sourceOffset: isSource ? records.pop() : undefined, consumerOffset: offset(page) };
    return writer.commit({ records: part === 'position' ? [] : records, ...(part !== 'records' && position) });
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
  // The coordinator writes down that a transaction has ended, after all its partitions know.
  const areDone = (states: readonly unknown[]) => states.length >= writers.length && states.every(isComplete);
  const [data, copies] = [join(dataFolder, 'broker-1', 'data'), join(dataFolder, 'copies')];
  const folder = ({ topic, partition }: Settled[number]) => `${topic}-${partition}`;
  const copy = (at: Settled[number]) => cp(join(data, folder(at)), join(copies, folder(at)), { recursive: true });
  /** Kills the broker, and starts it with these partitions as they were copied. */
  const restartWith = async (partitions: Settled, stopped: () => Promise<unknown>) => {
    await kafka.kill();
    await stopped();
    for (const at of partitions) {
      await rm(join(data, folder(at)), { recursive: true });
      await cp(join(copies, folder(at)), join(data, folder(at)), { recursive: true });
    }
    await kafka.restart();
  };

  const killed = Promise.withResolvers<never>();
  killed.promise.catch(() => {});
  const copied = Promise.withResolvers<void>();
  let arrivals = { page: 1, count: 0, all: Promise.withResolvers<void>() };
  const stand = (until: Promise<void>) => {
    arrivals.count += 1;
    if (arrivals.count === writers.length) arrivals.all.resolve();
    return until;
  };
  const isCutOff = (topics: readonly string[]) => arrivals.page === 2 && topics.some((topic) => topic === cutOff);
  const wrap = hookTransactions({
    send: (really, _call, topics) => (isCutOff(topics) ? stand(killed.promise).then(really) : really()),
    async commit(really) {
      if (arrivals.page === 2) await stand(killed.promise);
      if (arrivals.page === 3) await stand(copied.promise);
      await really();
    },
  });
  const dying = connect({ wrap, tuning: { maxRoundBytes: 1 } });
  const opened = writers.map(({ id, options }) => dying.transactionalWriter(id, options));
  for (const [index, writer] of opened.entries()) {
    await writer.open(async () => {}, t.signal);
    await commit(writer, index, 1);
  }
  for (const { written } of writers) await isVisible(written, 1);
  await eventually('nothing is open', hanging, isNone);
  await eventually('the coordinator is done', transactionStates, areDone);
  // All that it has written by now is what it will know after the kill.
  await copy(TRANSACTIONS);
  arrivals = { page: 2, count: 0, all: Promise.withResolvers() };
  const lost = opened.map((writer, index) => assert.rejects(commit(writer, index, 2), { code: 'TRANSACTION_FAILED' }));
  await arrivals.all.promise;
  await restartWith([TRANSACTIONS], () => {
    killed.reject(new Error('the broker was killed'));
    return Promise.all(lost);
  });
  assert.equal(await hanging(), 11, 'page 2 hangs wherever it was sent, and its consumer offset too');

  arrivals = { page: 1, count: 0, all: Promise.withResolvers() };
  for (const [index, writer] of opened.entries()) {
    // Where all of a page is there, its position too, it may be committed as well as written again.
    const position = await writer.open(writers[index]?.position ?? (async () => 0), t.signal);
    assert.equal(position, index === CUT_OFF ? 1 : 2);
  }
  await eventually('nothing hangs any more', hanging, isNone);
  await commit(opened[CUT_OFF] as (typeof opened)[number], CUT_OFF, 2);
  for (const { written } of writers) await isVisible(written, 2);

  arrivals = { page: 3, count: 0, all: Promise.withResolvers() };
  const committed = opened.map((writer, index) => commit(writer, index, 3));
  await arrivals.all.promise;
  // An operator stops a source at that moment.
  const wantedStates = await createTopic(heir);
  const operator = (by: typeof heir) => {
    const topics = { states: wantedStates };
    return { prefix: 'operated', kafka: by, topics, clock: systemClock, signal: t.signal };
  };
  const stopping = Promise.withResolvers<void>();
  const stops = hookTransactions({
    async commit(really) {
      stopping.resolve();
      await copied.promise;
      await really();
    },
  });
  const stopped = requestState(operator(connect({ wrap: stops })), 'source', 'stopped');
  await stopping.promise;
  // The first loses the end of its rows alone, the second all of it, the third all of it, the last that of its position alone.
  const losing = writers.flatMap(({ written, isSource }, index) => {
    if (!isSource) return [...written, CONSUMER_OFFSETS];
    return written.filter((_at, of) => index === CUT_OFF || (of === written.length - 1) === (index !== 0));
  });
  losing.push({ topic: wantedStates.name, partition: 0 });
  for (const at of losing) await copy(at);
  copied.resolve();
  await Promise.all([...committed, stopped]);
  for (const { written } of writers) await isVisible(written, 3);
  await eventually('the coordinator is done', transactionStates, areDone);
  await restartWith(losing, async () => {});
  assert.equal(await hanging(), 9, 'what has lost its end hangs');

  await requestWalk(operator(heir), { source: 'source', allowShrink: null });
  const wanted = () => readWanted(operator(heir), 'source');
  const { state } = await eventually('the walk is wanted', wanted, ({ walk }) => walk !== null);
  assert.equal(state, 'stopped', 'what was wanted before the kill is kept');

  // Until the partitions know the end of a transaction, its records are hidden.
  const late = { fault: 'delayRequest', delayMs: 300, times: Number.POSITIVE_INFINITY } as const;
  for (const proxy of inner.proxies) proxy.addRule({ on: 'WriteTxnMarkers', ...late });
  // The first two had nothing to write while the broker was killed, and then no record for where it hangs; the others are
  // opened by another process.
  const again = writers.map(({ id, options }, index) =>
    index < CUT_OFF ? opened[index] : heir.transactionalWriter(id, options),
  ) as typeof opened;
  for (const [index, writer] of again.entries()) {
    if (index < CUT_OFF) await commit(writer, index, 4, 'position');
    else assert.equal(await writer.open(writers[index]?.position ?? (async () => 0), t.signal), 3);
  }
  await eventually('nothing hangs any more', hanging, isNone);
  for (const [index, writer] of again.entries())
    await commit(writer, index, 4, index < CUT_OFF ? 'records' : undefined);
  for (const { written } of writers) await isVisible(written, 4);
  for (const { position } of writers)
    await eventually('the position is that of page 4', position, (page) => page === 4);
});
