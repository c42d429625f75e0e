import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { createTopic, kafkaTest, readCommitted } from '../../support/kafka/kafka-real.ts';
import { testOnBroker } from '../../support/kafka/raw-kafkajs-cluster.ts';
import { stackOrSkip } from '../../support/kafka/stack.ts';
import { portOf } from '../../support/network/loopback-port.ts';
import { openOurCluster, textRecord } from '../../support/network/tcp-proxy-cluster.ts';

kafkaTest(
  'a broker that accepts connections and answers nothing holds up nobody who knows another one',
  async (t, kafka) => {
    const stack = await stackOrSkip(t);
    if (!stack) return;
    let connections = 0;
    const frozen = createServer(() => {
      connections += 1;
    });
    const port = await portOf(t, frozen);
    const topic = await createTopic(kafka.connect());

    // The first choice is the frozen one.
    const brokers = [`127.0.0.1:${port}`, ...stack.brokers];
    const cluster = kafka.connect({ brokers, random: () => 0, tuning: { requestTimeoutMs: 3_000, openGraceMs: 0 } });
    const writer = cluster.transactionalWriter(topic.name);
    await writer.open(async () => (await readCommitted(cluster, topic.name)).length, t.signal);
    assert.ok(connections > 0, 'it was asked first');
    await writer.commit({ records: [textRecord(topic.name, 'written')] });
    await cluster.ensureTopics([topic], { create: false });
  },
);

testOnBroker('a broker that was frozen when it was asked for its versions names topic ids again', async (t, raw) => {
  const topic = await raw.createTopic();
  const ours = openOurCluster(t, { ...raw, tuning: { connectionTimeoutMs: 300, requestTimeoutMs: 300 } });
  const frozen = raw.proxy.addRule({ on: 'ApiVersions', fault: 'dropAnswer', times: Number.POSITIVE_INFINITY });
  await assert.rejects(ours.topicIds([topic], t.signal), { code: 'KAFKA_UNREACHABLE' });
  assert.ok(frozen.hits() > 0);
  raw.proxy.clearRules();
  assert.deepEqual([...(await ours.topicIds([topic], t.signal)).keys()], [topic]);
});
