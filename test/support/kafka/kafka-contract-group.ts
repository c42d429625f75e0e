import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { ReadBatch } from '../../../src/kafka/group-reader.ts';
import type { TopicPartition } from '../../../src/kafka/topic.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import { eventually } from '../runner/eventually.ts';
import type { Contract, ContractSubject } from './contract-subject.ts';

interface AnsweringOptions {
  readonly cluster: KafkaCluster;
  /** Read by a group of this name. */
  readonly input: string;
  /** Has at least as many partitions. */
  readonly output: string;
  readonly signal: AbortSignal;
  /** A partition is ours, and reading it begins. */
  readonly onAssigned?: (partition: TopicPartition) => void;
}

type AnsweringMember = ReturnType<typeof answerInputs>;

/**
 * A member of a group that copies each record of its input to its output exactly once, as the price processor does: one
 * transactional id per input partition, and the consumer offset in the transaction of the answers.
 */
function answerInputs({ cluster, input, output, signal, onAssigned }: AnsweringOptions) {
  const stopped = new AbortController();
  const ended = cluster.groupReader.run({
    groupId: input,
    topics: [input],
    signal: AbortSignal.any([stopped.signal, signal]),
    async assigned(held, lost) {
      const { partition } = held;
      const writer = cluster.transactionalWriter(`${input}-${partition}`);
      const neverWhenLost = async <T>(work: Promise<T>): Promise<T> => {
        try {
          return await work;
        } catch (error) {
          // Fenced: the partition has another owner, of which this member will hear.
          await untilAborted(new Promise<never>(() => {}), AbortSignal.any([lost, AbortSignal.timeout(20_000)]));
          throw error;
        }
      };
      let position = await neverWhenLost(
        writer.open(async () => (await cluster.consumerOffset(input, held, lost))?.offset ?? 0n, lost),
      );
      onAssigned?.(held);
      return {
        position: () => position,
        async take({ records, nextOffset }) {
          const answers = records.map(({ key, value }) => ({ topic: output, partition, key, value, headers: {} }));
          await neverWhenLost(
            writer.commit({
              records: answers,
              consumerOffset: { groupId: input, topic: input, partition, offset: nextOffset },
            }),
          );
          position = nextOffset;
        },
      };
    },
  });
  ended.catch(() => {});
  return {
    /** Rejects when the member ended otherwise than by `stop`. */
    async stop() {
      const reason = new Error('stopped');
      stopped.abort(reason);
      await ended.catch((error: unknown) => {
        if (error !== reason) throw error;
      });
    },
  };
}

const ALL = [0, 1, 2, 3];
const PARTITIONS = ALL.length;

export function testGroupContract(every: Contract): void {
  const contract = (title: string, body: (parts: Parts) => Promise<void>) =>
    every(title, async (subject, t) => body(await prepare(t, subject)));

  contract('a consumer offset is committed with the records of its transaction, or alone', async (parts) => {
    const { cluster } = parts.subject;
    assert.equal(await parts.committed(0), null);
    const writer = cluster.transactionalWriter(parts.input);
    await writer.open(async () => {}, parts.signal);
    await writer.commit({ records: [parts.record(0, 'a')], consumerOffset: parts.offset(0, 7n) });
    const heir = cluster.transactionalWriter(parts.input);
    assert.equal(await heir.open(() => parts.committed(0), parts.signal), 7n);
    await heir.commit({ records: [], consumerOffset: { ...parts.offset(0, 9n), metadata: '{"so": "far"}' } });
    const position = () => cluster.consumerOffset(parts.input, { topic: parts.input, partition: 0 }, parts.signal);
    assert.deepEqual(await writer.open(position, parts.signal), { offset: 9n, metadata: '{"so": "far"}' });
    assert.equal(await parts.committed(1), null);
    await assert.rejects(parts.committed(PARTITIONS), { code: 'KAFKA_UNREACHABLE' });
  });

  contract('a member reads from its position on, in order, what is there and what comes', async (parts) => {
    await parts.commit(0, 'a', 'b', 'c');
    const member = parts.read({ positions: { 0: 1n } });
    await member.has(0, ['b', 'c']);
    await parts.commit(0, 'd');
    await parts.commit(1, 'e');
    await member.has(0, ['b', 'c', 'd']);
    await member.has(1, ['e']);
  });

  contract('markers and aborted records move the next offset to the end of the log', async (parts) => {
    await parts.commit(0, 'a');
    await parts.subject.leaveOpen(`${parts.input}-left`, [parts.record(0, 'aborted'), parts.record(0, 'aborted too')]);
    const heir = parts.subject.cluster.transactionalWriter(`${parts.input}-left`);
    await heir.open(async () => {}, parts.signal);
    const member = parts.read();
    await member.has(0, ['a']);
    await eventually(
      'the end of the log is passed',
      () => member.batches.filter(({ partition }) => partition === 0).at(-1)?.batch,
      (batch) => batch !== undefined && batch.nextOffset === batch.endOffset && batch.nextOffset >= 3n,
    );
  });

  contract('a batch that is not taken yet holds back its partition alone', async (parts) => {
    const open = Promise.withResolvers<void>();
    const member = parts.read({ hold: { partition: 0, until: () => open.promise } });
    await parts.commit(0, 'a');
    await member.has(0, ['a']);
    await parts.commit(0, 'b');
    for (const value of ['c', 'd', 'e']) await parts.commit(1, value);
    await member.has(1, ['c', 'd', 'e']);
    assert.deepEqual(member.values(0), ['a']);
    open.resolve();
    await member.has(0, ['a', 'b']);
  });

  contract('members share the partitions, and one that leaves gives its own to the others at once', async (parts) => {
    const [first, second] = [parts.read(), parts.read()];
    const both = () => [first, second].map((member) => `${member.held().length} of ${member.members()}`).join();
    await eventually('both have some and count two', both, (shares) => shares === '2 of 2,2 of 2');
    const described = await parts.subject.cluster.groupMembers(parts.input);
    assert.deepEqual(described?.flatMap(({ partitions }) => partitions.map(({ partition }) => partition)).sort(), ALL);
    assert.deepEqual(
      described?.map(({ host, partitions }) => [host === '', partitions.length]),
      [
        [false, 2],
        [false, 2],
      ],
    );
    assert.deepEqual(await parts.subject.cluster.groupMembers(`${parts.input}-nobody`), []);
    const lost = second.held();
    const reason = new Error('enough');
    second.stop(reason);
    await assert.rejects(second.ended, reason);
    assert.ok(second.signals.every(({ aborted }) => aborted));
    const alone = () => `${first.held().length} of ${first.members()}`;
    await eventually('the other has all, and counts itself', alone, (share) => share === `${PARTITIONS} of 1`);
    for (const partition of lost) await parts.commit(partition, 'next');
    for (const partition of lost) await first.has(partition, ['next']);
  });

  contract('a kept partition goes on where its reader is, whatever the group has committed', async (parts) => {
    const taking = Promise.withResolvers<void>();
    const first = parts.read({ hold: { until: () => taking.promise } });
    for (const partition of ALL) await parts.commit(partition, 'a');
    for (const partition of ALL) await first.has(partition, ['a']);
    for (const partition of ALL) {
      await parts.commit(partition, 'b');
      await parts.commitEnd(partition);
    }
    const second = parts.read();
    const both = () => [first.held().length, second.held().length];
    await eventually('both have some', both, ([a, b]) => a === 2 && b === 2);
    taking.resolve();
    for (const partition of first.held()) await first.has(partition, ['a', 'b']);
  });

  contract('the group confirms a partition whenever it is asked, and not once it is lost', async (parts) => {
    await parts.commit(0, 'a');
    const member = parts.read();
    await member.has(0, ['a']);
    const [proof] = member.proofs;
    assert.ok(proof);
    for (let asked = 0; asked < 3; asked++) await proof(performance.now());
    const reason = new Error('enough');
    member.stop(reason);
    await assert.rejects(member.ended, reason);
    await assert.rejects(proof(performance.now()), reason);
  });

  contract('what assigned or take throws ends the run with it', async (parts) => {
    await parts.commit(0, 'a');
    const thrown = new RangeError('no');
    await assert.rejects(parts.read({ hold: { partition: 0, until: () => Promise.reject(thrown) } }).ended, thrown);
    await assert.rejects(parts.read({ assigned: () => Promise.reject(thrown) }).ended, thrown);
  });

  contract('members that come and go answer each record once', async (parts) => {
    const { cluster } = parts.subject;
    const output = await parts.createTopic('output');
    const answering = (): AnsweringMember =>
      answerInputs({ cluster, input: parts.input, output, signal: parts.signal });
    const expected: string[] = [];
    const write = async () => {
      const values = Array.from({ length: 25 }, () => `v${expected.length}-${randomUUID().slice(0, 4)}`);
      for (const [index, value] of values.entries()) await parts.commit(index % PARTITIONS, value);
      expected.push(...values);
    };
    const members = [answering()];
    for (let round = 0; round < 3; round++) {
      members.push(answering());
      await write();
      await members.shift()?.stop();
    }
    await write();
    const answers = () => parts.valuesOf(output);
    const answered = async () => (await answers()).length;
    await eventually('all are answered', answered, (count) => count >= expected.length);
    await Promise.all(members.map((member) => member.stop()));
    assert.deepEqual((await answers()).sort(), expected.sort());
  });
}

type Parts = Awaited<ReturnType<typeof prepare>>;

interface ReadOptions {
  readonly positions?: Readonly<Record<number, bigint>>;
  /** What taking the batches of one partition, or of all, waits for. */
  readonly hold?: { readonly partition?: number; readonly until: () => Promise<void> };
  readonly assigned?: () => Promise<never>;
}

async function prepare(t: TestContext, subject: ContractSubject) {
  const { cluster } = subject;
  const prefix = `group-${randomUUID()}`;
  const testEnds = new AbortController();
  const members: Promise<unknown>[] = [];
  t.after(async () => {
    testEnds.abort(new Error('the test has ended'));
    await Promise.allSettled(members);
  });
  const createTopic = async (name: string) => {
    const specification = { name: `${prefix}-${name}`, partitions: PARTITIONS, replicationFactor: 1, settings: {} };
    await cluster.ensureTopics([specification], { create: true });
    return specification.name;
  };
  const input = await createTopic('input');
  const record = (partition: number, value: string, topic = input) => {
    return { topic, partition, key: Buffer.from(value), value: Buffer.from(value), headers: {} };
  };
  const writer = cluster.transactionalWriter(`${prefix}-writer`);
  await writer.open(async () => {}, testEnds.signal);
  const read = ({ positions = {}, hold, assigned }: ReadOptions = {}) => {
    const stopped = new AbortController();
    const batches: { partition: number; batch: ReadBatch }[] = [];
    const signals: AbortSignal[] = [];
    const proofs: ((sinceMonotonicMs: number) => Promise<void>)[] = [];
    const next = new Map<number, bigint>(Object.entries(positions).map(([p, offset]) => [Number(p), offset]));
    let held: readonly TopicPartition[] = [];
    let groupSize = 0;
    const values = (of: number) =>
      batches.flatMap(({ partition, batch }) => (partition === of ? batch.records.map((r) => String(r.value)) : []));
    const ended = cluster.groupReader.run({
      groupId: input,
      topics: [input],
      signal: AbortSignal.any([stopped.signal, testEnds.signal]),
      joined(partitions) {
        held = partitions;
      },
      members(count) {
        groupSize = count;
      },
      async assigned({ partition }, signal, ownershipProof) {
        signals.push(signal);
        proofs.push((sinceMonotonicMs) => ownershipProof(sinceMonotonicMs, signal));
        await assigned?.();
        return {
          position: () => next.get(partition) ?? 0n,
          async take(batch) {
            batches.push({ partition, batch });
            next.set(partition, batch.nextOffset);
            if (hold && (hold.partition ?? partition) === partition) await untilAborted(hold.until(), signal);
          },
        };
      },
    });
    ended.catch(() => {});
    members.push(ended);
    return {
      ended,
      batches,
      signals,
      proofs,
      values,
      held: () => held.map(({ partition }) => partition),
      members: () => groupSize,
      stop: (reason: Error) => stopped.abort(reason),
      async has(partition: number, expected: readonly string[]) {
        const come = () => values(partition).length;
        await eventually('the records come', come, (n) => n >= expected.length);
        assert.deepEqual(values(partition), expected);
      },
    };
  };
  return {
    subject,
    signal: testEnds.signal,
    input,
    createTopic,
    record,
    read,
    offset: (partition: number, offset: bigint) => ({ groupId: input, topic: input, partition, offset }),
    committed: async (partition: number) =>
      (await cluster.consumerOffset(input, { topic: input, partition }, testEnds.signal))?.offset ?? null,
    commit: (at: number, ...values: string[]) => writer.commit({ records: values.map((value) => record(at, value)) }),
    /** Commits for the group that all records of the partition have been read. */
    async commitEnd(partition: number) {
      let end = 0n;
      const onRecord = ({ offset }: { offset: bigint }) => {
        end = offset + 1n;
      };
      const { signal } = testEnds;
      const read = () => cluster.logReader.readToEnd({ topic: input, partitions: [partition], onRecord, signal });
      await writer.open(read, signal);
      await writer.commit({ records: [], consumerOffset: { groupId: input, topic: input, partition, offset: end } });
    },
    async valuesOf(topic: string): Promise<string[]> {
      const values: string[] = [];
      const partitions = Array.from({ length: PARTITIONS }, (_, partition) => partition);
      const onRecord = ({ value }: { value: Buffer | null }) => void values.push(String(value));
      await cluster.logReader.readToEnd({ topic, partitions, onRecord, signal: testEnds.signal });
      return values;
    },
  };
}
