import assert from 'node:assert/strict';
import { testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { openOurCluster, textRecord } from '../../support/network/tcp-proxy-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';

testOnBroker('H15: a raw consumer whose handler threw lives on and reads nothing', async (t, raw) => {
  const topic = await raw.createTopic();
  const producer = await raw.producer(uniqueName('writer'));
  const settings = { groupId: uniqueName('group'), maxWaitTimeInMs: 100, retry: { retries: 1, initialRetryTime: 20 } };
  const consumer = raw.client().consumer(settings);
  t.after(() => consumer.disconnect());
  const crashed = Promise.withResolvers<boolean>();
  consumer.on(consumer.events.CRASH, ({ payload }) => crashed.resolve(payload.restart));
  const seen: string[] = [];
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const eachMessage = async ({ message }: { message: { value: Buffer | null } }) => {
    seen.push(String(message.value));
    if (seen.length < 3) return;
    throw Object.assign(new Error('fenced'), {
      name: 'KafkaJSProtocolError',
      type: 'INVALID_PRODUCER_EPOCH',
      retriable: false,
    });
  };
  await consumer.run({ eachMessage });
  for (const value of ['a', 'b', 'c']) await raw.commit(producer, topic, value);
  assert.equal(await crashed.promise, false);
  await raw.commit(producer, topic, 'd');
  const { members } = await consumer.describeGroup();
  assert.deepEqual([members, seen], [[], ['a', 'b', 'c']]);
});

testOnBroker('H15: our member that was cut off for good ends its run and says so', async (t, raw) => {
  const topic = await raw.createTopic();
  const ours = openOurCluster(t, raw);
  const signals: AbortSignal[] = [];
  const seen: string[] = [];
  const running = ours.groupReader.run({
    groupId: uniqueName('group'),
    topics: [topic],
    signal: t.signal,
    async assigned(_partition, signal) {
      signals.push(signal);
      return {
        position: () => 0n,
        take: async ({ records }) => void seen.push(...records.map(({ value }) => `${value}`)),
      };
    },
  });
  running.catch(() => {});
  const writer = openOurCluster(t, { brokers: raw.brokers }).transactionalWriter(uniqueName('writer'));
  await writer.open(async () => {}, t.signal);
  await writer.commit({ records: [textRecord(topic, 'a')] });
  const read = () => seen.join();
  await eventually('the member reads', read, (values) => values === 'a');
  raw.proxy.addRule({
    on: ['Fetch', 'Heartbeat', 'JoinGroup', 'FindCoordinator', 'Metadata'],
    fault: 'cutRequest',
    times: Infinity,
  });
  await assert.rejects(running, { code: 'KAFKA_UNREACHABLE', action: 'retry' });
  assert.equal(signals[0]?.aborted, true);
});
