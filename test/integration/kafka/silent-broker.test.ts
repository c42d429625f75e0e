import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { createTopic, kafkaTest, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip } from '../../support/kafka/stack.ts';
import { portOf } from '../../support/network/loopback-port.ts';
import { textRecord } from '../../support/network/tcp-proxy-cluster.ts';

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
