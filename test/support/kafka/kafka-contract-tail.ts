import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { TestContext } from 'node:test';
import type { CommittedRecord } from '../../../src/kafka/record.ts';
import { hasCome } from '../network/tcp-proxy-cluster.ts';
import { eventually } from '../runner/eventually.ts';
import type { Contract, ContractSubject } from './contract-subject.ts';

const PARTITIONS = 2;
/** A record that is not expected is waited for as long as this test can afford. */
const NOTHING_COMES_MS = 300;

export function testLogTailContract(every: Contract): void {
  const contract = (title: string, body: (parts: Parts) => Promise<void>) =>
    every(title, async (subject, t) => body(await prepare(t, subject)));

  contract('a follower gives what is there and then what comes, in order, each record once', async (parts) => {
    await parts.commit('a', 'b');
    const follower = parts.follow();
    await follower.has(['a', 'b']);
    await parts.commit('c');
    await follower.has(['a', 'b', 'c']);
    await parts.commit('d');
    await follower.has(['a', 'b', 'c', 'd']);
  });

  contract('a follower of what is new gives nothing that was there before, and everything after', async (parts) => {
    await parts.commit('a', 'b');
    const all = parts.follow();
    await all.has(['a', 'b']);
    const follower = parts.follow({ onlyNew: true, partitions: [0, 1] });
    // What it finds there is not given, and when it looked is not reported: so until the first is given.
    const later: string[] = [];
    while (follower.seen.length === 0 && later.length < 100) {
      later.push(`later ${later.length}`);
      await parts.commitTo(later.length % 2, later.at(-1) ?? '');
      await pause(50);
    }
    const last = ['last on 0', 'last on 1'];
    for (const [partition, value] of last.entries()) await parts.commitTo(partition, value);
    await follower.hasAll(last);
    // In order within each partition: what came while the following began is given with one fetch, one after the other.
    for (const partition of [0, 1]) {
      const written = [...later.filter((_value, index) => (index + 1) % 2 === partition), last[partition]];
      const seen = follower.seen.filter((value) => written.includes(value));
      assert.deepEqual(seen, written.slice(-seen.length));
    }
    assert.ok(follower.seen.every((value) => last.includes(value) || later.includes(value)));
  });

  contract(
    'a follower gives nothing of a transaction that was left open, and goes on when it is ended',
    async (parts) => {
      const follower = parts.follow();
      await parts.commit('a');
      await follower.has(['a']);
      await parts.subject.leaveOpen(`${parts.topic}-left`, [parts.record('aborted')]);
      await parts.commit('b');
      await follower.stays(['a']);
      await parts.fence(`${parts.topic}-left`);
      await follower.has(['a', 'b']);
    },
  );

  contract('the signal ends following with its reason, and nothing is given afterwards', async (parts) => {
    const stop = new AbortController();
    const follower = parts.follow({ signal: stop.signal });
    await parts.commit('a');
    await follower.has(['a']);
    const reason = new Error('enough');
    stop.abort(reason);
    await assert.rejects(follower.ended, reason);
    await parts.commit('b');
    await follower.stays(['a']);
    await assert.rejects(parts.follow({ signal: stop.signal }).ended, reason);
  });

  contract('what the callback throws ends following with it', async (parts) => {
    await parts.commit('a', 'b');
    const thrown = new RangeError('no');
    const given: string[] = [];
    const onRecord = (record: CommittedRecord) => {
      given.push(String(record.value));
      throw thrown;
    };
    await assert.rejects(parts.follow({ onRecord }).ended, thrown);
    assert.deepEqual(given, ['a']);
  });
}

type Parts = Awaited<ReturnType<typeof prepare>>;

async function prepare(t: TestContext, subject: ContractSubject) {
  const topic = `tail-${randomUUID()}`;
  const settings = { 'cleanup.policy': 'compact', 'message.timestamp.type': 'LogAppendTime' };
  const specification = { name: topic, partitions: PARTITIONS, replicationFactor: 1, settings };
  await subject.cluster.ensureTopics([specification], { create: true });
  const testEnds = new AbortController();
  t.after(() => testEnds.abort(new Error('the test has ended')));
  const record = (value: string, partition = 0) => {
    return { topic, partition, key: Buffer.from('k'), value: Buffer.from(value), headers: {} };
  };
  const writer = subject.cluster.transactionalWriter(`${topic}-writer`);
  await writer.open(async () => {}, testEnds.signal);
  return {
    subject,
    topic,
    record,
    commit: (...values: string[]) => writer.commit({ records: values.map((value) => record(value)) }),
    commitTo: (partition: number, value: string) => writer.commit({ records: [record(value, partition)] }),
    async fence(transactionalId: string) {
      const heir = subject.cluster.transactionalWriter(transactionalId);
      await heir.open(async () => {}, testEnds.signal);
      await heir.close();
    },
    follow(own: Partial<Parameters<typeof subject.cluster.logTail.follow>[0]> = {}) {
      const seen: string[] = [];
      const onRecord = ({ value }: CommittedRecord) => void seen.push(String(value));
      const request = { topic, partitions: [0], onRecord, signal: testEnds.signal, ...own };
      const ended = subject.cluster.logTail.follow(request);
      ended.catch(() => {});
      return {
        ended,
        seen,
        async has(expected: readonly string[]) {
          await hasCome(seen, expected.length);
          assert.deepEqual(seen, expected);
        },
        async hasAll(expected: readonly string[]) {
          const haveCome = () => expected.every((value) => seen.includes(value));
          await eventually(`${expected.join()} have come`, haveCome, Boolean);
        },
        async stays(expected: readonly string[]) {
          await pause(NOTHING_COMES_MS);
          assert.deepEqual(seen, expected);
        },
      };
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
