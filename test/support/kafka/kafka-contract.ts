import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import type { CommittedRecord, OutgoingRecord } from '../../../src/kafka/record.ts';
import type { TopicSpecification } from '../../../src/kafka/topic.ts';
import { eventually } from '../runner/eventually.ts';
import type { Contract, ContractSubject } from './contract-subject.ts';
import { testGroupContract } from './kafka-contract-group.ts';
import { testLogTailContract } from './kafka-contract-tail.ts';

const PARTITIONS = 3;

/**
 * The promises of `KafkaCluster`, run against memory and against a real broker, so that the one stands for the other.
 * Nothing is run where `connect` gives undefined.
 */
export function testKafkaContract(
  name: string,
  connect: (t: TestContext) => Promise<ContractSubject | undefined>,
): void {
  const contract: Contract = (title, body) =>
    test(`${name}: ${title}`, async (t) => {
      const subject = await connect(t);
      if (subject === undefined) return;
      t.after(() => subject.cluster.close());
      await body(subject, t);
    });
  testWriterContract((title, body) => contract(title, async (subject) => body(await prepare(subject))));
  testGroupContract(contract);
  testLogTailContract(contract);
}

function testWriterContract(contract: (title: string, body: (parts: Parts) => Promise<void>) => void): void {
  contract('a committed transaction is visible in order on every partition it touched', async (parts) => {
    const writer = await parts.opened();
    await writer.commit({ records: [parts.record(0, 'a'), parts.record(1, 'b'), parts.record(0, 'c')] });
    await writer.commit({ records: [parts.record(0, 'd')] });
    assert.deepEqual(await parts.readUntil(4), ['0:a', '0:c', '0:d', '1:b']);
  });

  contract('key, value, headers, tombstones and rising offsets come back as they were written', async (parts) => {
    const writer = await parts.opened();
    const headers = { 'spc-source': 'instruments', empty: '' };
    await writer.commit({
      records: [
        { topic: parts.topic, partition: 0, key: Buffer.from('k'), value: Buffer.from([0, 255]), headers },
        { topic: parts.topic, partition: 0, key: Buffer.from('k'), value: null, headers: {} },
      ],
    });
    await parts.readUntil(2);
    const [first, second] = await parts.readRecords();
    assert.ok(first && second);
    assert.deepEqual([first.key, first.value, first.headers], [Buffer.from('k'), Buffer.from([0, 255]), headers]);
    assert.deepEqual([second.key, second.value], [Buffer.from('k'), null]);
    assert.ok(first.offset < second.offset);
    assert.ok(first.timestampMs > 0);
  });

  contract('a writer that was never opened refuses to write', async (parts) => {
    await assert.rejects(parts.writer().commit({ records: [parts.record(0, 'a')] }), { code: 'WRITER_CLOSED' });
    assert.deepEqual(await parts.read(), []);
  });

  contract('a closed writer refuses to write, and can be opened again', async (parts) => {
    const writer = await parts.opened();
    await writer.close();
    await writer.close();
    await assert.rejects(writer.commit({ records: [parts.record(0, 'a')] }), { code: 'WRITER_CLOSED' });
    await writer.open(parts.nothing, parts.signal);
    await writer.commit({ records: [parts.record(0, 'b')] });
    assert.deepEqual(await parts.readUntil(1), ['0:b']);
  });

  contract('an empty commit does nothing and leaves the writer open', async (parts) => {
    const writer = await parts.opened();
    await writer.commit({ records: [] });
    await writer.commit({ records: [parts.record(0, 'a')] });
    assert.deepEqual(await parts.readUntil(1), ['0:a']);
  });

  contract('two commits at once: the second is refused, the first is whole', async (parts) => {
    const writer = await parts.opened();
    const first = writer.commit({ records: [parts.record(0, 'a')] });
    await assert.rejects(writer.commit({ records: [parts.record(0, 'b')] }), { code: 'WRITER_CLOSED' });
    await first;
    assert.deepEqual(await parts.readUntil(1), ['0:a']);
  });

  contract(
    'a second writer with the same id fences the first, of which nothing is visible afterwards',
    async (parts) => {
      const [zombie, heir] = [await parts.opened(), parts.writer()];
      await zombie.commit({ records: [parts.record(0, 'before')] });
      await heir.open(parts.nothing, parts.signal);
      await assert.rejects(zombie.commit({ records: [parts.record(0, 'zombie')] }), {
        action: 'reopenWriter',
        code: 'WRITER_FENCED',
      });
      await assert.rejects(zombie.commit({ records: [parts.record(0, 'zombie')] }), { code: 'WRITER_CLOSED' });
      await heir.commit({ records: [parts.record(0, 'after')] });
      assert.deepEqual(await parts.readUntil(2), ['0:before', '0:after']);
    },
  );

  contract(
    'opening ends the transaction that a killed holder left open, before the position is read',
    async (parts) => {
      const heir = parts.writer();
      await parts.subject.leaveOpen(parts.transactionalId, [parts.record(0, 'left'), parts.record(1, 'left')]);
      const other = await parts.opened(`${parts.transactionalId}-other`);
      await other.commit({ records: [parts.record(0, 'behind')] });
      // A transaction has ended on the partitions, too, when its id is opened again.
      await other.open(parts.nothing, parts.signal);
      assert.deepEqual(await parts.read(), [], 'what lies behind an open transaction is not visible');
      assert.deepEqual(await heir.open(parts.read, parts.signal), ['0:behind']);
    },
  );

  contract('reading an empty topic ends at once with nothing', async (parts) => {
    assert.deepEqual(await parts.read(), []);
  });

  contract('a partition without visible records, but with aborted ones, is read to its end', async (parts) => {
    await parts.subject.leaveOpen(parts.transactionalId, [parts.record(2, 'left')]);
    assert.deepEqual(await parts.writer().open(parts.read, parts.signal), []);
  });

  contract('only the partitions asked for are read', async (parts) => {
    const writer = await parts.opened();
    await writer.commit({ records: [parts.record(0, 'a'), parts.record(1, 'b'), parts.record(2, 'c')] });
    await parts.readUntil(3);
    for (const [partition, expected] of ['a', 'b', 'c'].entries()) {
      const values: string[] = [];
      const onRecord = (record: CommittedRecord) => values.push(String(record.value));
      await parts.subject.cluster.logReader.readToEnd({ ...parts, partitions: [partition], onRecord });
      assert.deepEqual(values, [expected]);
    }
  });

  contract('a reader whose callback throws fails with what it threw', async (parts) => {
    const writer = await parts.opened();
    await writer.commit({ records: [parts.record(0, 'a')] });
    await parts.readUntil(1);
    const onRecord = () => {
      throw new RangeError('no');
    };
    const reading = parts.subject.cluster.logReader.readToEnd({ ...parts, partitions: [0], onRecord });
    await assert.rejects(reading, { name: 'RangeError', message: 'no' });
  });

  contract('a partition or topic that does not exist is an error, never an empty answer', async (parts) => {
    const { logReader } = parts.subject.cluster;
    const onRecord = () => assert.fail('there are no records');
    await assert.rejects(logReader.readToEnd({ ...parts, partitions: [PARTITIONS], onRecord }), {
      code: 'KAFKA_UNREACHABLE',
    });
    const writer = await parts.opened();
    const lost = writer.commit({ records: [parts.record(0, 'half'), parts.record(PARTITIONS, 'nowhere')] });
    await assert.rejects(lost, { code: 'TRANSACTION_FAILED' });
    assert.deepEqual(await writer.open(parts.read, parts.signal), [], 'half a transaction is never visible');
  });

  contract('an aborted signal ends opening and reading with its reason', async (parts) => {
    const reason = new Error('enough');
    const signal = AbortSignal.abort(reason);
    await assert.rejects(parts.writer().open(parts.nothing, signal), reason);
    const onRecord = () => {};
    const reading = parts.subject.cluster.logReader.readToEnd({
      topic: parts.topic,
      partitions: [0],
      onRecord,
      signal,
    });
    await assert.rejects(reading, reason);
    const closing = new AbortController();
    const hanging = parts.writer().open(() => new Promise(() => closing.abort(reason)), closing.signal);
    await assert.rejects(hanging, reason);
  });

  contract('an error of the position that no retry mends ends the opening as it is', async (parts) => {
    const unreadable = new ConnectorError('OFFSET_UNREADABLE', 'broken');
    const writer = parts.writer();
    const opening = writer.open(() => Promise.reject(unreadable), parts.signal);
    await assert.rejects(opening, unreadable);
    await assert.rejects(writer.commit({ records: [parts.record(0, 'a')] }), { code: 'WRITER_CLOSED' });
  });

  contract(
    'topics are created once, verified afterwards, and missing ones are an error without create',
    async (parts) => {
      const { cluster } = parts.subject;
      const specification = { ...parts.specification, name: `${parts.topic}-more` };
      await assert.rejects(cluster.ensureTopics([specification], { create: false }), {
        code: 'TOPIC_MISSING',
        fields: { topics: [specification.name] },
      });
      const first = await cluster.ensureTopics([parts.specification, specification], { create: true });
      const second = await cluster.ensureTopics([parts.specification, specification], { create: false });
      assert.deepEqual([first.created, second.created], [[specification.name], []]);
      assert.deepEqual([first.warnings, second.warnings], [[], []]);
      assert.equal(second.maxMessageBytes.get(specification.name), 2_000_000);
    },
  );

  contract('a topic that is created again has another id, and nothing was read of it', async (parts) => {
    const { cluster } = parts.subject;
    const { specification, topic, signal } = parts;
    const place = { groupId: `${topic}-readers`, topic, partition: 0 };
    const position = () => cluster.consumerOffset(place.groupId, place, signal);
    const idNow = async () => (await cluster.topicIds([topic, 'no-such-topic'], signal)).get(topic);
    const writer = cluster.transactionalWriter(parts.transactionalId, { abortHangingOffset: place });
    await writer.open(position, signal);
    await writer.commit({ records: [], consumerOffset: { ...place, offset: 7n, metadata: 'so far' } });
    assert.deepEqual(await writer.open(position, signal), { offset: 7n, metadata: 'so far' });
    const first = await idNow();
    assert.equal(typeof first, 'string');
    await parts.subject.deleteTopic(topic);
    await eventually('the topic is gone', idNow, (id) => id === undefined);
    await cluster.ensureTopics([specification], { create: true });
    assert.notEqual(await idNow(), first);
    assert.equal(await writer.open(position, signal), null);
  });

  contract('a topic with another partition count or cleanup policy is an error that names the fix', async (parts) => {
    const { cluster } = parts.subject;
    const { specification, topic } = parts;
    const morePartitions = cluster.ensureTopics([{ ...specification, partitions: 5 }], { create: true });
    await assert.rejects(morePartitions, {
      code: 'TOPIC_MISMATCH',
      message: new RegExp(`${topic} has 3 partitions, but the connector expects 5`),
    });
    const settings = { ...specification.settings, 'cleanup.policy': 'compact' };
    const message = /cleanup\.policy=compact,delete and needs compact\. .*--add-config cleanup\.policy=\[compact\]/;
    await assert.rejects(cluster.ensureTopics([{ ...specification, settings }], { create: true }), { message });
    const drifted = { ...specification.settings, 'cleanup.policy': 'delete,compact', 'retention.ms': '7200000' };
    const report = await cluster.ensureTopics([{ ...specification, settings: drifted }], { create: true });
    assert.deepEqual(report.warnings, [
      `Topic ${topic} has retention.ms=3600000, but the connector needs 7200000. The topic stays as it is. ` +
        `Change the setting with: kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics --entity-name ${topic} ` +
        '--add-config retention.ms=7200000',
    ]);
  });
}

type Parts = Awaited<ReturnType<typeof prepare>>;

async function prepare(subject: ContractSubject) {
  const topic = `contract-${randomUUID()}`;
  const transactionalId = `${topic}-writer`;
  const signal = AbortSignal.timeout(600_000);
  const specification: TopicSpecification = {
    name: topic,
    partitions: PARTITIONS,
    replicationFactor: 1,
    settings: {
      'cleanup.policy': 'compact,delete',
      'retention.ms': '3600000',
      'max.message.bytes': '2000000',
      'message.timestamp.type': 'LogAppendTime',
    },
  };
  await subject.cluster.ensureTopics([specification], { create: true });

  const readRecords = async (): Promise<CommittedRecord[]> => {
    const records: CommittedRecord[] = [];
    const partitions = Array.from({ length: PARTITIONS }, (_, partition) => partition);
    await subject.cluster.logReader.readToEnd({ topic, partitions, onRecord: (r) => records.push(r), signal });
    return records.sort((a, b) => a.partition - b.partition || Number(a.offset - b.offset));
  };
  const read = async () => (await readRecords()).map(({ partition, value }) => `${partition}:${value}`);
  const nothing = async () => {};
  const writer = (id = transactionalId) => subject.cluster.transactionalWriter(id);
  return {
    subject,
    topic,
    transactionalId,
    specification,
    signal,
    nothing,
    writer,
    async opened(id?: string) {
      const opened = writer(id);
      await opened.open(nothing, signal);
      return opened;
    },
    record: (partition: number, value: string): OutgoingRecord => ({
      topic,
      partition,
      key: Buffer.from(`key-${value}`),
      value: Buffer.from(value),
      headers: {},
    }),
    read,
    readRecords,
    /** A commit is visible a few milliseconds after it was acknowledged. */
    readUntil: (count: number) => eventually(`${count} are visible`, read, ({ length }) => length >= count),
  };
}
