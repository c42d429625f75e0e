import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { FRAME_ROOM_BYTES, type FramedRequest } from '../../../../src/kafka/kafkajs/produce/produce-request.ts';
import { BATCH_HEAD_BYTES } from '../../../../src/kafka/kafkajs/produce/record-batch.ts';
import { sendOnce } from '../../../../src/kafka/kafkajs/produce/send-messages.ts';
import { systemClock } from '../../../../src/support/clock.ts';

const require = createRequire(import.meta.url);
const createEosManager = require('kafkajs/src/producer/eosManager/index.js');

const LAST = 2 ** 31 - 1;
const ID = 'id';
const TOPIC = 't';
/** Behind transactional id, acks, time-out, number of topics, topic, number of partitions, partition and length. */
const SEQUENCE_AT = FRAME_ROOM_BYTES + 2 + ID.length + 10 + 2 + TOPIC.length + 4 + 8 + BATCH_HEAD_BYTES - 8;

/** A producer's own counting, as kafkajs does it, and the first sequence number of each batch that is sent. */
async function sender() {
  const sequences: number[] = [];
  const coordinator = {
    initProducerId: async () => ({ producerId: '5', producerEpoch: 0 }),
    async addPartitionsToTxn() {},
  };
  const leader = {
    connectionPool: {
      async send({ request }: { request: { encode(): Promise<unknown> } }) {
        sequences.push(((await request.encode()) as FramedRequest).buffer.readInt32BE(SEQUENCE_AT));
        return { topics: [{ topicName: TOPIC, partitions: [{ partition: 0, errorCode: 0 }] }] };
      },
    },
    async disconnect() {},
  };
  const cluster = {
    async addMultipleTargetTopics() {},
    async refreshMetadataIfNecessary() {},
    async refreshMetadata() {},
    findLeaderForPartitions: () => ({ 1: [0] }),
    findBroker: async () => leader,
    findGroupCoordinator: async () => coordinator,
  };
  const logger = { namespace: () => logger, debug() {}, info() {}, warn() {}, error() {} };
  const eosManager = createEosManager({
    logger,
    cluster,
    transactional: true,
    transactionalId: ID,
    transactionTimeout: 60_000,
  });
  await eosManager.initProducerId();
  eosManager.beginTransaction();
  const send = sendOnce(systemClock)({
    cluster: cluster as never,
    eosManager,
    retrier: (attempt) => attempt(() => {}),
  });
  return {
    /** As after so many records. */
    startAt: (sequence: number) => eosManager.updateSequence(TOPIC, 0, sequence),
    async send(records: number): Promise<number | undefined> {
      const messages = Array.from({ length: records }, () => ({ key: null, value: null, partition: 0 }));
      await send({ topicMessages: [{ topic: TOPIC, messages }] });
      return sequences.at(-1);
    },
  };
}

test('sequence numbers count the records', async () => {
  const { send } = await sender();
  assert.deepEqual([await send(3), await send(1), await send(2)], [0, 3, 4]);
});

test('behind the last sequence number they go on at 0, within a batch too', async () => {
  const { startAt, send } = await sender();
  startAt(LAST - 2);
  // The numbers of the first batch: LAST - 2, LAST - 1, LAST, 0, 1.
  assert.deepEqual([await send(5), await send(1), await send(1)], [LAST - 2, 2, 3]);
});

test('the last sequence number is used, by a batch that begins with it', async () => {
  const { startAt, send } = await sender();
  startAt(LAST - 2);
  assert.deepEqual([await send(2), await send(1), await send(1)], [LAST - 2, LAST, 0]);
});
