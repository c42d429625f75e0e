import assert from 'node:assert/strict';
import type { Message } from 'kafkajs';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { OutgoingRecord } from '../../../src/kafka/record.ts';
import { createTopic, hookTransactions, kafkaTest, readCommitted } from '../../support/kafka/kafka-real.ts';
import { loadRawKafkajs } from '../../support/kafka/raw-kafkajs.ts';

const signal = () => AbortSignal.timeout(600_000);
/** What a clock that is set meanwhile may differ by. */
const MINUTE_MS = 60_000;

function records(topic: string, values: readonly string[], partition = 0): OutgoingRecord[] {
  return values.map((value) => ({ topic, partition, key: Buffer.from('k'), value: Buffer.from(value), headers: {} }));
}

async function valuesOf(cluster: KafkaCluster, topic: string): Promise<string[]> {
  return (await readCommitted(cluster, topic)).map(({ value }) => String(value));
}

kafkaTest('a commit that happened although its answer was lost is seen by the next opening', async (_t, kafka) => {
  const commit = async (reallyCommit: () => Promise<void>) => {
    await reallyCommit();
    throw new Error('Closed connection');
  };
  const cluster = kafka.connect({ wrap: hookTransactions({ commit }) });
  const { name } = await createTopic(cluster);
  const writer = cluster.transactionalWriter(`${name}-writer`);
  await writer.open(async () => {}, signal());
  await assert.rejects(writer.commit({ records: records(name, ['page 1']) }), { code: 'TRANSACTION_FAILED' });
  assert.deepEqual(await writer.open(() => valuesOf(cluster, name), signal()), ['page 1']);
});

kafkaTest('a commit whose request was lost leaves nothing behind after the next opening', async (_t, kafka) => {
  const commit = () => Promise.reject(new Error('Broker not connected'));
  const cluster = kafka.connect({ wrap: hookTransactions({ commit }) });
  const { name } = await createTopic(cluster);
  const writer = cluster.transactionalWriter(`${name}-writer`);
  await writer.open(async () => {}, signal());
  await assert.rejects(writer.commit({ records: records(name, ['page 1']) }), { code: 'TRANSACTION_FAILED' });
  assert.deepEqual(await writer.open(() => valuesOf(cluster, name), signal()), []);
});

kafkaTest(
  'after a send whose answer was lost, nothing of its page is visible, and the repeated page is whole',
  async (_t, kafka) => {
    let lost = 0;
    const send = async <T>(reallySend: () => Promise<T>, call: number): Promise<T> => {
      const answer = await reallySend();
      if (call !== 1) return answer;
      lost += 1;
      throw new Error('Closed connection');
    };
    const cluster = kafka.connect({ wrap: hookTransactions({ send }) });
    const pages = await createTopic(cluster);
    const offsets = await createTopic(cluster);
    const writer = cluster.transactionalWriter(`${pages.name}-writer`);
    const page = { records: records(pages.name, ['a', 'b']), sourceOffset: records(offsets.name, ['offset'])[0] };
    await writer.open(async () => {}, signal());
    await assert.rejects(writer.commit(page), { code: 'TRANSACTION_FAILED' });
    const seen = async () => [await valuesOf(cluster, pages.name), await valuesOf(cluster, offsets.name)];
    assert.deepEqual(await writer.open(seen, signal()), [[], []]);
    await writer.commit(page);
    assert.deepEqual(await writer.open(seen, signal()), [['a', 'b'], ['offset']]);
    assert.equal(lost, 1);
  },
);

kafkaTest(
  'a page of 5 MB goes out in several batches of at most 900 KB, is whole and in order, and its offset is last',
  async (_t, kafka) => {
    const sent: { topic: string; bytes: number }[][] = [];
    const cluster = kafka.connect({
      compression: 'none',
      wrap: (kafka) => {
        const producer = (config: object) => {
          const real = kafka.producer(config);
          const transaction = async () => {
            const begun = await real.transaction();
            const sendBatch: typeof begun.sendBatch = (batch) => {
              const round = batch.topicMessages ?? [];
              const bytes = (messages: readonly Message[]) =>
                messages.reduce((sum, { value }) => sum + (value?.length ?? 0), 0);
              sent.push(round.map(({ topic, messages }) => ({ topic, bytes: bytes(messages) })));
              return begun.sendBatch(batch);
            };
            return { ...begun, sendBatch };
          };
          return { ...real, transaction };
        };
        return Object.assign(Object.create(kafka), { producer });
      },
    });
    const pages = await createTopic(cluster);
    const offsets = await createTopic(cluster);
    const writer = cluster.transactionalWriter(`${pages.name}-writer`);
    await writer.open(async () => {}, signal());
    const rows = Array.from({ length: 600 }, (_, row) => `${row}:`.padEnd(8_500, 'x'));
    await writer.commit({ records: records(pages.name, rows), sourceOffset: records(offsets.name, ['offset'])[0] });
    const seen = await writer.open(() => valuesOf(cluster, pages.name), signal());
    assert.deepEqual(seen, rows);
    assert.equal(sent.length, 6);
    assert.ok(sent.flat().every(({ bytes }) => bytes <= 900_000));
    const withOffset = sent.map((round) => round.some(({ topic }) => topic === offsets.name));
    assert.deepEqual(withOffset, [false, false, false, false, false, true]);
  },
);

kafkaTest('a record larger than the topic takes fails its whole transaction', async (_t, kafka) => {
  const cluster = kafka.connect({ compression: 'none' });
  const { name } = await createTopic(cluster, { 'max.message.bytes': '10000' });
  const writer = cluster.transactionalWriter(`${name}-writer`);
  await writer.open(async () => {}, signal());
  const page = [...records(name, ['small']), ...records(name, ['x'.repeat(20_000)])];
  await assert.rejects(writer.commit({ records: page }), (error: Error) => {
    assert.match(error.message, /MESSAGE_TOO_LARGE/);
    return true;
  });
  assert.deepEqual(await writer.open(() => valuesOf(cluster, name), signal()), []);
});

kafkaTest(
  'a limit that is lowered while two writers have batches in flight refuses neither of them',
  async (t, kafka) => {
    const cluster = kafka.connect({ compression: 'none' });
    const { name } = await createTopic(cluster, {}, 2);
    const admin = kafka.plain().admin();
    t.after(() => admin.disconnect());
    await admin.connect();
    const configEntries = [{ name: 'max.message.bytes', value: '10000' }];
    const resources = [{ type: loadRawKafkajs().ConfigResourceTypes.TOPIC, name, configEntries }];
    const writers = [0, 1].map((partition) => {
      const writer = cluster.transactionalWriter(`${name}-${partition}`);
      const values = Array.from({ length: 10 }, (_, row) => `${row}`.padEnd(3_000, 'x'));
      const commit = () => writer.commit({ records: records(name, values, partition) });
      return { open: () => writer.open(async () => {}, signal()), commit };
    });
    for (const { open, commit } of writers) {
      await open();
      await commit();
    }
    await admin.alterConfigs({ validateOnly: false, resources });
    const outcomes = await Promise.allSettled(writers.map(({ commit }) => commit()));
    const codes = outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code);
    assert.deepEqual(codes, ['TRANSACTION_FAILED', 'TRANSACTION_FAILED'], 'no batch is refused for good');
    for (const { open, commit } of writers) {
      await open();
      await commit();
    }
  },
);

for (const compression of ['zstd', 'gzip', 'none'] as const) {
  kafkaTest(
    `records written with compression ${compression} are read back, time-stamped by the broker`,
    async (_t, kafka) => {
      const cluster = kafka.connect({ compression });
      const { name } = await createTopic(cluster);
      const writer = cluster.transactionalWriter(`${name}-writer`);
      await writer.open(async () => {}, signal());
      const values = Array.from({ length: 50 }, (_, row) => `row ${row} `.repeat(100));
      const beganMs = Date.now();
      await writer.commit({ records: records(name, values) });
      const seen = await writer.open(() => readCommitted(cluster, name), signal());
      assert.deepEqual(
        seen.map(({ value }) => String(value)),
        values,
      );
      const isOfNow = (ms: number) => ms >= beganMs - MINUTE_MS && ms <= Date.now() + MINUTE_MS;
      assert.ok(seen.every(({ timestampMs }) => isOfNow(timestampMs)));
    },
  );
}

kafkaTest(
  'when everything is closed, no transaction is open and every last stable offset is the high watermark',
  async (_t, kafka) => {
    const cluster = kafka.connect();
    const { name } = await createTopic(cluster);
    const writer = cluster.transactionalWriter(`${name}-writer`);
    await writer.open(async () => {}, signal());
    const committing = writer.commit({ records: records(name, ['last']) });
    await cluster.close();
    await committing;
    const after = kafka.connect();
    let seen = await valuesOf(after, name);
    while (seen.length === 0) seen = await valuesOf(after, name);
    assert.deepEqual(seen, ['last']);
  },
);

kafkaTest(
  'a holder that lost its id to a newer producer of another client is fenced, and opening gives the truth',
  async (t, kafka) => {
    const cluster = kafka.connect();
    const { name } = await createTopic(cluster);
    const writer = cluster.transactionalWriter(`${name}-writer`);
    await writer.open(async () => {}, signal());
    const thief = kafka.plain().producer({ transactionalId: `${name}-writer`, maxInFlightRequests: 1 });
    t.after(() => thief.disconnect());
    await thief.connect();
    const transaction = await thief.transaction();
    await transaction.send({ topic: name, messages: [{ key: 'k', value: 'theirs', partition: 0 }] });
    await assert.rejects(writer.commit({ records: records(name, ['ours']) }), { code: 'WRITER_FENCED' });
    await transaction.commit();
    assert.deepEqual(await writer.open(() => valuesOf(cluster, name), signal()), ['theirs']);
    await writer.commit({ records: records(name, ['ours again']) });
    assert.deepEqual(await writer.open(() => valuesOf(cluster, name), signal()), ['theirs', 'ours again']);
  },
);

kafkaTest(
  'opening while no broker answers fails with the brokers named as the thing to check, at its deadline',
  async (_t, kafka) => {
    // On a busy machine a single attempt has taken a second.
    const tuning = { transactionTimeoutMs: 3_000, openGraceMs: 3_000, retries: 1 };
    const cluster = kafka.connect({ brokers: ['127.0.0.1:1'], tuning });
    await assert.rejects(
      cluster.transactionalWriter('nobody').open(async () => {}, signal()),
      (error: Error) => {
        assert.match(error.message, /could not be opened within 6000 ms .*ECONNREFUSED.*kafka\.brokers/);
        return true;
      },
    );
  },
);
