import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createTopic, kafkaTest, readCommitted } from '../../support/kafka/kafka-real.ts';
import { stackOrSkip } from '../../support/kafka/stack.ts';
import { textRecord } from '../../support/network/tcp-proxy-cluster.ts';

kafkaTest(
  'a broker that accepts connections and answers nothing holds up nobody who knows another one',
  async (t, kafka) => {
    const stack = await stackOrSkip(t);
    if (!stack) return;
    const sockets = new Set<Socket>();
    const frozen = createServer((socket) => sockets.add(socket.on('error', () => {})));
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      frozen.close();
    });
    frozen.listen(0, '127.0.0.1');
    await once(frozen, 'listening');
    const { port } = frozen.address() as AddressInfo;
    const topic = await createTopic(kafka.connect());

    // The first choice is the frozen one.
    const brokers = [`127.0.0.1:${port}`, ...stack.brokers];
    const cluster = kafka.connect({ brokers, random: () => 0, tuning: { requestTimeoutMs: 3_000, openGraceMs: 0 } });
    const writer = cluster.transactionalWriter(topic.name);
    await writer.open(async () => (await readCommitted(cluster, topic.name)).length, t.signal);
    assert.ok(sockets.size > 0, 'it was asked first');
    await writer.commit({ records: [textRecord(topic.name, 'written')] });
    await cluster.ensureTopics([topic], { create: false });
  },
);
