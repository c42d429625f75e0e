import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectorError } from '../../../src/errors.ts';
import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import type { Assignor } from '../../../src/kafka/group-reader.ts';
import { testOnBroker, uniqueName } from '../../support/kafka/raw-kafkajs-cluster.ts';
import {
  hasCome,
  noPosition,
  openOurCluster,
  readValues,
  textRecord,
} from '../../support/network/tcp-proxy-cluster.ts';
import { eventually } from '../../support/runner/eventually.ts';

/** Longer than the broker takes to be asked, shorter than a session. */
const LISTENING_MS = 1_000;
/** Longer than a test takes: a member whose join is not answered is not forgotten meanwhile. */
const SESSION_MS = 120_000;

/** All to the first member, by the order of their ids. */
function sharingOf(topic: string): Assignor {
  return {
    name: 'sources',
    describe: () => '',
    assign: ([first]) => new Map(first && [[first.id, [{ topic, partition: 0 }]]]),
  };
}

/** A member that opens a writer on what it is given, and writes its name, and then another one for each call. */
function startMember(cluster: KafkaCluster, topic: string, groupId: string, signal: AbortSignal) {
  const written = Promise.withResolvers<() => Promise<void>>();
  const joins: number[] = [];
  let lost: AbortSignal | undefined;
  const ended = cluster.groupReader.run({
    groupId,
    topics: [topic],
    assignor: sharingOf(topic),
    joined: (partitions) => void joins.push(partitions.length),
    async assigned(_partition, signal, ownershipProof) {
      lost = signal;
      const writer = cluster.transactionalWriter(`${topic}-writer`, { ownershipProof });
      await writer.open(() => readValues(cluster, topic), signal);
      const write = () => writer.commit({ records: [textRecord(topic, groupId)] });
      await write();
      written.resolve(write);
      return new Promise<never>(() => {});
    },
    signal,
  });
  ended.catch(written.reject);
  written.promise.catch(() => {});
  return { joins, ended, written: written.promise, lost: () => lost?.aborted };
}

testOnBroker('a member of an empty group writes while its join is not answered, and then goes on', async (t, raw) => {
  const answered = Promise.withResolvers<void>();
  // The first one is answered with the member's id.
  const held = { fault: 'delayAnswer', until: answered.promise, skip: 1, times: 1_000 } as const;
  const joins = raw.proxy.addRule({ on: 'JoinGroup', ...held });
  const [topic, groupId] = [await raw.createTopic(), uniqueName('group')];
  const ours = openOurCluster(t, { ...raw, tuning: { groupSessionTimeoutMs: SESSION_MS } });
  const member = startMember(ours, topic, groupId, t.signal);
  const write = await member.written;
  // For longer than one confirmation holds.
  await sleep(2 * LISTENING_MS);
  await write();
  const { groups } = await raw.admin.describeGroups([groupId]);
  assert.equal(groups[0]?.members.length, 1, 'it knows its member for itself');
  assert.deepEqual(member.joins, [1], 'before the join');
  assert.ok(joins.hits() > 0);

  answered.resolve();
  await hasCome(member.joins, 2);
  await write();
  assert.deepEqual([member.joins, member.lost()], [[1, 1], false]);
  assert.deepEqual(await readValues(ours, topic, 0, true), [groupId, groupId, groupId]);
});

testOnBroker('a member of a group that another one is in takes nothing before its join is answered', async (t, raw) => {
  const [topic, groupId] = [await raw.createTopic(), uniqueName('group')];
  const first = openOurCluster(t, { brokers: raw.brokers });
  const owner = startMember(first, topic, groupId, t.signal);
  await owner.written;
  await hasCome(owner.joins, 2);

  raw.proxy.addRule({ on: 'JoinGroup', fault: 'dropAnswer', times: 1_000 });
  const second = startMember(openOurCluster(t, raw), topic, groupId, t.signal);
  await sleep(LISTENING_MS);
  assert.deepEqual(second.joins, []);
  assert.deepEqual(await readValues(first, topic, 0, true), [groupId]);
});

testOnBroker('two that both believe to be alone write each number once, whatever the group says', async (t, raw) => {
  const topic = await raw.createTopic({ partitions: 2 });
  const transactionalId = uniqueName('writer');
  const enough = 40;
  const failures: string[] = [];
  // Neither commits before both have opened: on a busy machine one would have written everything by then.
  const opened = new Set<number>();
  const bothOpened = Promise.withResolvers<void>();
  const writeNumbers = async (cluster: KafkaCluster, inTurn: number) => {
    // A group that confirms whatever it is asked.
    const writer = cluster.transactionalWriter(transactionalId, { ownershipProof: async () => {} });
    for (let next = 0; next < enough; ) {
      try {
        next = await writer.open(async () => (await readValues(cluster, topic, 1)).length, t.signal);
        if (opened.add(inTurn).size === 2) bothOpened.resolve();
        await bothOpened.promise;
        for (const last = next + inTurn; next < last; next++) {
          const [record, sourceOffset] = [0, 1].map((partition) => textRecord(topic, String(next), partition));
          await writer.commit({ records: record ? [record] : [], sourceOffset });
        }
      } catch (error) {
        failures.push((error as ConnectorError).code);
      }
    }
  };
  await Promise.all([5, 7].map((inTurn) => writeNumbers(openOurCluster(t, { brokers: raw.brokers }), inTurn)));

  const values = await readValues(openOurCluster(t, { brokers: raw.brokers }), topic, 0, true);
  assert.ok(failures.includes('WRITER_FENCED'), failures.join());
  assert.ok(values.length >= enough);
  assert.deepEqual(values, [...values.keys()].map(String));
});

/** A member as the price processor is one: by turns, with all partitions while it is alone, which it reads. */
function startReader(cluster: KafkaCluster, topic: string, groupId: string, signal: AbortSignal) {
  const seen = { joins: [] as number[], begun: 0, values: [] as (string | null)[] };
  const ended = cluster.groupReader.run({
    groupId,
    topics: [topic],
    alone: [{ topic, partition: 0 }],
    joined: (partitions) => void seen.joins.push(partitions.length),
    async assigned() {
      seen.begun += 1;
      let position = 0n;
      return {
        position: () => position,
        async take({ records, nextOffset }) {
          seen.values.push(...records.map(({ value }) => value && String(value)));
          position = nextOffset;
        },
      };
    },
    signal,
  });
  ended.catch(() => {});
  return seen;
}

testOnBroker(
  'a member that goes ahead without an assignor reads once its join is answered, each record once',
  async (t, raw) => {
    const answered = Promise.withResolvers<void>();
    raw.proxy.addRule({ on: 'JoinGroup', fault: 'delayAnswer', until: answered.promise, times: 1_000 });
    const [topic, groupId] = [await raw.createTopic(), uniqueName('group')];
    const plain = openOurCluster(t, { brokers: raw.brokers });
    const writer = plain.transactionalWriter(uniqueName('writer'));
    await writer.open(noPosition, t.signal);
    await writer.commit({ records: [textRecord(topic, 'before')] });

    const seen = startReader(openOurCluster(t, raw), topic, groupId, t.signal);
    const goneAhead = () => seen.begun;
    await eventually('it has gone ahead', goneAhead, (begun) => begun === 1);
    assert.deepEqual(seen.joins, [1], 'before the join');
    answered.resolve();
    await hasCome(seen.values, 1);
    await writer.commit({ records: [textRecord(topic, 'after')] });
    await hasCome(seen.values, 2);
    assert.deepEqual(seen, { joins: [1, 1], begun: 1, values: ['before', 'after'] });
  },
);
