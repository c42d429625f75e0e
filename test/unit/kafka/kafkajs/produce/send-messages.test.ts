import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inKafkajs } from '../../../../../src/kafka/kafkajs/kafkajs-internals.ts';
import { FRAME_ROOM_BYTES, FramedRequest } from '../../../../../src/kafka/kafkajs/produce/produce-request.ts';
import { BATCH_HEAD_BYTES } from '../../../../../src/kafka/kafkajs/produce/record-batch.ts';
import { sendOnce } from '../../../../../src/kafka/kafkajs/produce/send-messages.ts';
import { skippingClock } from '../../../../support/runner/manual-clock.ts';

/** Whatever fails is tried again as long as it says that it may, as kafkajs does. */
async function retrier<Result>(attempt: (bail: (error: unknown) => void) => Promise<Result>): Promise<Result> {
  for (;;) {
    let bailed: { readonly error: unknown } | undefined;
    try {
      const result = await attempt((error) => {
        bailed = { error };
      });
      if (bailed === undefined) return result;
    } catch {
      continue;
    }
    throw bailed.error;
  }
}

interface Script {
  /** By call, what adding partitions throws. */
  readonly add?: readonly (object | undefined)[];
  /** Whether a connection of the last transaction was lost. */
  readonly isLost?: boolean;
  /** By node id and call: the error codes of partitions. */
  readonly codes?: Readonly<Record<string, Record<number, number>[]>>;
  readonly produce?: Readonly<Record<string, () => Promise<unknown>>>;
}

const LAST_SEQUENCE = 2 ** 31 - 1;
const ID = 'id';
/** Behind transactional id, acks, time-out, number of topics, topic, number of partitions, partition and length. */
const SEQUENCE_AT = FRAME_ROOM_BYTES + 2 + ID.length + 10 + 2 + 't'.length + 4 + 8 + BATCH_HEAD_BYTES - 8;

/** Topic `t`: partitions 0 and 2 are led by node 1, partition 1 by node 2; others are not known. */
async function sender(script: Script = {}) {
  const steps: string[] = [];
  /** Of the first batch of each request. */
  const sent: number[] = [];
  let adds = 0;
  const leaders: Record<string, readonly number[]> = { 1: [0, 2], 2: [1] };
  let late: number | undefined;
  const led = (nodeId: string) => leaders[nodeId] ?? [];
  const broker = (nodeId: string) => ({
    connectionPool: {
      async send({ request }: { request: { encode: () => Promise<unknown> } }) {
        const encoded = await request.encode();
        assert.ok(encoded instanceof FramedRequest);
        sent.push(encoded.buffer.readInt32BE(SEQUENCE_AT));
        steps.push(`produce to ${nodeId}`);
        await script.produce?.[nodeId]?.();
        const codes = script.codes?.[nodeId]?.shift() ?? {};
        const partitions = led(nodeId).map((partition) => ({ partition, errorCode: codes[partition] ?? 0 }));
        return { topics: [{ topicName: 't', partitions }] };
      },
    },
    async disconnect() {
      steps.push(`disconnect ${nodeId}`);
    },
  });
  const cluster = {
    async addMultipleTargetTopics() {},
    async refreshMetadataIfNecessary() {},
    async refreshMetadata() {
      steps.push('metadata');
    },
    findLeaderForPartitions(_topic: string, partitions: readonly number[]) {
      const found = Object.keys(leaders).map((nodeId) => [nodeId, partitions.filter((of) => led(nodeId).includes(of))]);
      return Object.fromEntries(found.filter(([, of]) => of?.length));
    },
    findBroker: async ({ nodeId }: { nodeId: string }) => broker(nodeId),
    hasLostConnection: () => script.isLost === true,
    findGroupCoordinator: async () => ({
      initProducerId: async () => ({ producerId: '5', producerEpoch: 0 }),
      async addPartitionsToTxn({ topics }: { topics: readonly { partitions: readonly number[] }[] }) {
        steps.push(`add ${topics.map(({ partitions }) => partitions).join(' ')}`);
        if (late !== undefined) leaders[2] = [1, late];
        const error = script.add?.[adds++];
        if (error) throw error;
      },
    }),
  };
  const logger = { namespace: () => logger, debug() {}, info() {}, warn() {}, error() {} };
  // A producer's own counting, as kafkajs does it.
  const eosManager = inKafkajs('producer/eosManager/index.js')({
    logger,
    cluster,
    transactional: true,
    transactionalId: ID,
    transactionTimeout: 60_000,
  });
  await eosManager.initProducerId();
  eosManager.beginTransaction();
  const clock = skippingClock();
  const send = sendOnce(clock)({ cluster: cluster as never, eosManager, retrier });
  const messages = (...partitions: number[]) => partitions.map((partition) => ({ key: null, value: null, partition }));
  return {
    steps,
    sent,
    sequences: () => [0, 1, 2].map((partition) => eosManager.getSequence('t', partition)),
    /** As after so many records in partition 0. */
    startAt: (sequence: number) => eosManager.updateSequence('t', 0, sequence),
    clock,
    /** As soon as partitions are added, this one has a leader. */
    becomeKnown(partition: number) {
      late = partition;
    },
    /** Adds partitions without records. */
    add: (...partitions: number[]) =>
      send({
        topicMessages: [{ topic: 't', messages: messages(...partitions).map((of) => ({ ...of, addsOnly: true })) }],
      }),
    send: (...partitions: number[]) => send({ topicMessages: [{ topic: 't', messages: messages(...partitions) }] }),
  };
}

test('a partition that comes to be known after the others were added is not sent', async () => {
  const { send, steps, becomeKnown } = await sender({ add: [undefined] });
  becomeKnown(9);
  const answers = await send(0, 9);
  assert.deepEqual(steps, ['add 0', 'produce to 1']);
  assert.ok(answers.every(({ partition }) => partition !== 9));
});

test('partitions are added without a record: nothing is sent, and no sequence number taken', async () => {
  const { add, steps, sequences } = await sender();
  const added = [0, 2, 1].map((partition) => ({ topicName: 't', partition, errorCode: 0 }));
  assert.deepEqual(await add(0, 1, 2), added);
  assert.deepEqual(steps, ['add 0,2,1']);
  assert.deepEqual(sequences(), [0, 0, 0]);
});

const NOT_LEADER = 6;
const OUT_OF_ORDER = 45;

test('a batch that its broker does not lead is sent again alone, with new metadata and its sequence number', async () => {
  const { send, steps, sequences, clock } = await sender({ codes: { 1: [{ 2: NOT_LEADER }] } });
  const answers = await send(0, 1, 2);
  assert.deepEqual(steps, ['add 0,2,1', 'produce to 1', 'produce to 2', 'metadata', 'produce to 1']);
  assert.deepEqual(sequences(), [1, 1, 1]);
  assert.deepEqual(clock.sleepsMs, [50]);
  assert.deepEqual(new Set(answers.map(({ partition }) => partition)), new Set([0, 1, 2]));
});

test('any other refusal of a partition ends the sending, and names the partition', async () => {
  const { send, steps } = await sender({ codes: { 2: [{ 1: OUT_OF_ORDER }] } });
  await assert.rejects(send(0, 1), { type: 'OUT_OF_ORDER_SEQUENCE_NUMBER', topic: 't', partition: 1 });
  assert.deepEqual(steps, ['add 0,1', 'produce to 1', 'produce to 2']);
});

test('a failed request is never sent again, even when its error says that it may be', async () => {
  const error = Object.assign(new Error('NOT_LEADER_FOR_PARTITION'), { retriable: true });
  const { send, steps } = await sender({ produce: { 2: () => Promise.reject(error) } });
  await assert.rejects(send(0, 1), error);
  assert.deepEqual(steps, ['add 0,1', 'produce to 1', 'produce to 2']);
});

test('while the transaction before still ends, adding waits some milliseconds and longer each time', async () => {
  const concurrent = Object.assign(new Error(), { type: 'CONCURRENT_TRANSACTIONS' });
  const { send, steps, clock } = await sender({ add: Array(4).fill(concurrent) });
  await send(0);
  assert.deepEqual(clock.sleepsMs, [1, 2, 4, 8]);
  assert.deepEqual(steps, [...Array(5).fill('add 0'), 'produce to 1']);
});

test('adding that is refused for ever ends with the refusal', async () => {
  const concurrent = Object.assign(new Error('still'), { type: 'CONCURRENT_TRANSACTIONS', retriable: false });
  const { send, clock, steps } = await sender({ add: Array(10_000).fill(concurrent) });
  await assert.rejects(send(0), concurrent);
  assert.equal(Math.max(...clock.sleepsMs), 20);
  const waitedMs = clock.sleepsMs.reduce((sum, ms) => sum + ms, 0);
  assert.ok(waitedMs < 9_000, 'a broker that was lost without a word does not count as lost yet');
  assert.ok(!steps.includes('produce to 1'));
});

test('once a connection is lost, records do not wait for the end of the transaction before', async () => {
  const concurrent = Object.assign(new Error('still'), { type: 'CONCURRENT_TRANSACTIONS', retriable: false });
  const { send, add, steps } = await sender({ add: [concurrent, concurrent], isLost: true });
  await assert.rejects(send(0), concurrent);
  assert.deepEqual(steps, ['add 0']);
  // Without records, nothing can end but what hangs, and in the same way; where there is a leader for it.
  await add(0);
  assert.deepEqual(steps, ['add 0', 'add 0', 'add 0', 'metadata']);
});

for (const [what, from, counts, expected] of [
  ['they count the records', 0, [3, 1, 2], [0, 3, 4]],
  ['behind the last one they go on at 0, within a batch too', LAST_SEQUENCE - 2, [5, 1, 1], [LAST_SEQUENCE - 2, 2, 3]],
  ['the last one begins a batch', LAST_SEQUENCE - 2, [2, 1, 1], [LAST_SEQUENCE - 2, LAST_SEQUENCE, 0]],
] as const) {
  test(`sequence numbers: ${what}`, async () => {
    const { startAt, send, sent } = await sender();
    startAt(from);
    for (const count of counts) await send(...Array<number>(count).fill(0));
    assert.deepEqual(sent, expected);
  });
}
