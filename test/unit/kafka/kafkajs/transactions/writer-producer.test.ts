import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Producer } from 'kafkajs';
import { askingForLast, type WriterProducer } from '../../../../../src/kafka/kafkajs/writer-producer.ts';
import { skippingClock } from '../../../../support/runner/manual-clock.ts';

const TRANSACTION = 1;
const asked = { groupId: 'id', coordinatorType: TRANSACTION };

/** The coordinator answers one after the other; its broker knows DescribeTransactions unless said otherwise. */
function producerOver(
  answers: readonly { errorCode: number; state: string }[],
  versions: object | null = { 65: { maxVersion: 0 } },
) {
  const socket = { bytesWritten: 0, destroyed: false, readableEnded: false };
  const write = async () => {
    socket.bytesWritten += 1;
  };
  let finds = 0;
  let sends = 0;
  const send = async () => answers[sends++] ?? assert.fail('asked too often');
  const cluster: { hasLostConnection?: () => boolean } & Record<string, unknown> = {
    brokerPool: { brokers: { 1: { connectionPool: { pool: [{ socket }, {}] } } } },
    findGroupCoordinator: async () => {
      finds += 1;
      return { number: finds, versions, connectionPool: { send }, async disconnect() {} };
    },
  };
  const original = { transaction: async () => ({ commit: write, abort: write }) };
  const clock = skippingClock();
  const create = askingForLast(() => original as unknown as Producer, clock);
  const producer: WriterProducer = create({ cluster: cluster as never, transactionalId: 'id' });
  const find = (of: object) => (cluster.findGroupCoordinator as (of: object) => Promise<{ number: number }>)(of);
  return { producer, find, clock, socket, finds: () => finds, isLost: () => cluster.hasLostConnection?.() };
}

test('the coordinator is found once for the question and the request behind it, and then again', async () => {
  const { producer, find, finds } = producerOver([{ errorCode: 0, state: 'CompleteCommit' }]);
  assert.equal(await producer.lastTransaction?.(), 'CompleteCommit');
  assert.equal((await find(asked)).number, 1);
  assert.equal((await find(asked)).number, 2);
  assert.equal(finds(), 2);
});

test('a coordinator that moves or loads is asked again, for a while', async () => {
  const moving = [14, 15, 16].map((errorCode) => ({ errorCode, state: '' }));
  const soon = producerOver([...moving, { errorCode: 0, state: 'Empty' }]);
  assert.equal(await soon.producer.lastTransaction?.(), 'Empty');
  assert.equal(soon.finds(), 4);
  const never = producerOver(Array(10).fill(moving[0]));
  await assert.rejects(
    async () => never.producer.lastTransaction?.(),
    (error: Error) => (error.cause as { type?: string }).type === 'GROUP_LOAD_IN_PROGRESS',
  );
  assert.equal(never.clock.sleepsMs.length, 5);
});

test('a coordinator without this request is not asked; of one that has not named its versions, nothing is known', async () => {
  assert.equal(await producerOver([], {}).producer.lastTransaction?.(), undefined);
  await assert.rejects(async () => producerOver([], null).producer.lastTransaction?.(), /has not named its versions/);
});

test('a producer knows how it ended its last transaction, when a connection of it was lost since', async () => {
  const { producer, socket, isLost } = producerOver([]);
  const end = async (how: 'commit' | 'abort') => (await producer.transaction())[how]();
  for (const how of ['abort', 'commit'] as const) {
    await end(how);
    assert.equal(producer.cutOffAfter?.(), undefined);
    assert.equal(isLost(), false);
    socket.readableEnded = true;
    assert.equal(producer.cutOffAfter?.(), how);
    // What sends the records of the next transaction learns it from the cluster.
    await producer.transaction();
    assert.equal(isLost(), true);
    socket.readableEnded = false;
  }
});
