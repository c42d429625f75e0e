import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FramedRequest } from '../../../../../src/kafka/kafkajs/produce/produce-request.ts';
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
  readonly transactional?: boolean;
  /** By call, what adding partitions throws. */
  readonly add?: readonly (object | undefined)[];
  /** Whether a connection of the last transaction was lost. */
  readonly isLost?: boolean;
  /** By node id. */
  /** By node id and call: the error codes of partitions. */
  readonly codes?: Readonly<Record<string, Record<number, number>[]>>;
  readonly produce?: Readonly<Record<string, () => Promise<unknown>>>;
}

/** Topic `t`: partitions 0 and 2 are led by node 1, partition 1 by node 2; others are not known. */
function sender(script: Script = {}) {
  const steps: string[] = [];
  const sequences: Record<string, number> = {};
  let adds = 0;
  const leaders: Record<string, readonly number[]> = { 1: [0, 2], 2: [1] };
  let late: number | undefined;
  const led = (nodeId: string) => leaders[nodeId] ?? [];
  const broker = (nodeId: string) => ({
    connectionPool: {
      async send({ request }: { request: { encode: () => Promise<unknown> } }) {
        assert.ok((await request.encode()) instanceof FramedRequest);
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
  };
  const eosManager = {
    isTransactional: () => script.transactional !== false,
    async addPartitionsToTransaction(topics: readonly { partitions: readonly { partition: number }[] }[]) {
      steps.push(`add ${topics.map(({ partitions }) => partitions.map(({ partition }) => partition)).join(' ')}`);
      if (late !== undefined) leaders[2] = [1, late];
      const error = script.add?.[adds++];
      if (error) throw error;
    },
    getTransactionalId: () => 'id',
    getProducerId: () => '5',
    getProducerEpoch: () => 1,
    getSequence: (_topic: string, partition: number) => sequences[partition] ?? 0,
    updateSequence(_topic: string, partition: number, increment: number) {
      sequences[partition] = (sequences[partition] ?? 0) + increment;
    },
  };
  const clock = skippingClock();
  const send = sendOnce(clock)({ cluster: cluster as never, eosManager, retrier });
  const messages = (...partitions: number[]) => partitions.map((partition) => ({ key: null, value: null, partition }));
  return {
    steps,
    sequences,
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
  const { send, steps, becomeKnown } = sender({ add: [undefined] });
  becomeKnown(9);
  const answers = await send(0, 9);
  assert.deepEqual(steps, ['add 0', 'produce to 1']);
  assert.ok(answers.every(({ partition }) => partition !== 9));
});

test('partitions are added without a record: nothing is sent, and no sequence number taken', async () => {
  const { add, steps, sequences } = sender();
  const added = [0, 2, 1].map((partition) => ({ topicName: 't', partition, errorCode: 0 }));
  assert.deepEqual(await add(0, 1, 2), added);
  assert.deepEqual(steps, ['add 0,2,1']);
  assert.deepEqual(sequences, {});
});

const NOT_LEADER = 6;
const OUT_OF_ORDER = 45;

test('a batch that its broker does not lead is sent again alone, with new metadata and its sequence number', async () => {
  const { send, steps, sequences, clock } = sender({ codes: { 1: [{ 2: NOT_LEADER }] } });
  const answers = await send(0, 1, 2);
  assert.deepEqual(steps, ['add 0,2,1', 'produce to 1', 'produce to 2', 'metadata', 'produce to 1']);
  assert.deepEqual(sequences, { 0: 1, 1: 1, 2: 1 });
  assert.deepEqual(clock.sleepsMs, [50]);
  assert.deepEqual(new Set(answers.map(({ partition }) => partition)), new Set([0, 1, 2]));
});

test('any other refusal of a partition ends the sending, and names the partition', async () => {
  const { send, steps } = sender({ codes: { 2: [{ 1: OUT_OF_ORDER }] } });
  await assert.rejects(send(0, 1), { type: 'OUT_OF_ORDER_SEQUENCE_NUMBER', topic: 't', partition: 1 });
  assert.deepEqual(steps, ['add 0,1', 'produce to 1', 'produce to 2']);
});

test('a failed request is never sent again, even when its error says that it may be', async () => {
  const error = Object.assign(new Error('NOT_LEADER_FOR_PARTITION'), { retriable: true });
  const { send, steps } = sender({ produce: { 2: () => Promise.reject(error) } });
  await assert.rejects(send(0, 1), error);
  assert.deepEqual(steps, ['add 0,1', 'produce to 1', 'produce to 2']);
});

test('while the transaction before still ends, adding waits some milliseconds and longer each time', async () => {
  const concurrent = Object.assign(new Error(), { type: 'CONCURRENT_TRANSACTIONS' });
  const { send, steps, clock } = sender({ add: Array(4).fill(concurrent) });
  await send(0);
  assert.deepEqual(clock.sleepsMs, [1, 2, 4, 8]);
  assert.deepEqual(steps, [...Array(5).fill('add 0'), 'produce to 1']);
});

test('adding that is refused for ever ends with the refusal', async () => {
  const concurrent = Object.assign(new Error('still'), { type: 'CONCURRENT_TRANSACTIONS', retriable: false });
  const { send, clock, steps } = sender({ add: Array(10_000).fill(concurrent) });
  await assert.rejects(send(0), concurrent);
  assert.equal(Math.max(...clock.sleepsMs), 20);
  const waitedMs = clock.sleepsMs.reduce((sum, ms) => sum + ms, 0);
  assert.ok(waitedMs < 9_000, 'a broker that was lost without a word does not count as lost yet');
  assert.ok(!steps.includes('produce to 1'));
});

test('once a connection is lost, records do not wait for the end of the transaction before', async () => {
  const concurrent = Object.assign(new Error('still'), { type: 'CONCURRENT_TRANSACTIONS', retriable: false });
  const { send, add, steps } = sender({ add: [concurrent, concurrent], isLost: true });
  await assert.rejects(send(0), concurrent);
  assert.deepEqual(steps, ['add 0']);
  // Without records, nothing can end but what hangs, and in the same way; where there is a leader for it.
  await add(0);
  assert.deepEqual(steps, ['add 0', 'add 0', 'add 0', 'metadata']);
});
