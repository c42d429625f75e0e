import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Consumer } from 'kafkajs';
import { createOwnershipProof } from '../../../../../src/kafka/group-reader.ts';
import { reportMemberCount } from '../../../../../src/kafka/kafkajs/group/kafkajs-member-count.ts';
import { loadKafkajs } from '../../../../../src/kafka/kafkajs/kafkajs-patches.ts';
import { SteppedClock } from '../../stepped-clock.ts';

const SESSION_MS = 6_000;
const log = { debug() {}, info() {}, warn() {}, error() {} };
const kafkajs = loadKafkajs();

/** A member's reports, with a group that is described as the test says. */
function counting() {
  const { AssignerProtocol } = kafkajs;
  const listeners = new Map<string, () => void>();
  const clock = new SteppedClock();
  const proof = createOwnershipProof();
  const ended = new AbortController();
  const reported: number[] = [];
  /** Partitions of each member; an error where the group does not answer. */
  let group: { readonly state: string; readonly owned: readonly number[][] } | Error = new Error('nobody answers');
  let asked = 0;
  const consumer = {
    events: { GROUP_JOIN: 'join', REBALANCING: 'rebalancing', HEARTBEAT: 'heartbeat' },
    on(name: string, listener: () => void) {
      listeners.set(name, listener);
      return () => {};
    },
    async describeGroup() {
      asked += 1;
      if (group instanceof Error) throw group;
      const { state, owned } = group;
      const members = owned.map((partitions) => {
        const assignment = { version: 1, assignment: { t: [...partitions] }, userData: Buffer.alloc(0) };
        return { memberAssignment: AssignerProtocol.MemberAssignment.encode(assignment) };
      });
      return { state, members };
    },
  } as unknown as Consumer;
  const members = (count: number) => void reported.push(count);
  reportMemberCount({
    kafkajs,
    consumer,
    members,
    proof,
    tuning: { groupSessionTimeoutMs: SESSION_MS },
    clock,
    log,
    signal: ended.signal,
  });
  const happens = (name: 'join' | 'rebalancing' | 'heartbeat') => {
    if (name !== 'rebalancing') proof.confirm(clock.monotonicMs());
    listeners.get(name)?.();
    return clock.advance(1);
  };
  return {
    clock,
    reported,
    happens,
    describe(state: string, owned: readonly number[][]) {
      group = { state, owned };
    },
    async confirmedFor(ms: number) {
      for (let passed = 0; passed < ms; passed += 500) {
        await clock.advance(499);
        await happens('heartbeat');
      }
    },
    asked: () => asked,
    end: () => ended.abort(),
  };
}

test('an owner beside two that stand by has a third of the limit at first, and the whole after a session', async () => {
  const { reported, happens, describe, confirmedFor, end, clock } = counting();
  await happens('join');
  assert.deepEqual(reported, [], 'the group has not answered');
  describe('Stable', [[0, 1], [], []]);
  await happens('heartbeat');
  assert.deepEqual(reported, [3]);
  await confirmedFor(SESSION_MS);
  assert.deepEqual(reported, [3, 1]);
  await happens('rebalancing');
  assert.deepEqual(reported, [3, 1, 3]);
  describe('Stable', [[0], [1], []]);
  await happens('join');
  await confirmedFor(SESSION_MS + 500);
  assert.deepEqual(reported, [3, 1, 3, 2]);
  end();
  assert.deepEqual(reported, [3, 1, 3, 2, 3], 'the next one of this process begins with the share of all');
  await clock.advance(1);
  assert.equal(clock.sleeping, 0);
});

test('a member that is cut off goes back to the share of all before its session ends, without any event', async () => {
  const { reported, happens, describe, confirmedFor, end, clock } = counting();
  describe('Stable', [[0], []]);
  await happens('join');
  await confirmedFor(SESSION_MS);
  assert.deepEqual(reported, [2, 1]);
  await clock.advance(SESSION_MS - 1);
  assert.deepEqual(reported, [2, 1, 2]);
  end();
});

test('a member that has ended asks no more, whatever still reaches it', async () => {
  const { happens, asked, end } = counting();
  await happens('join');
  assert.equal(asked(), 1);
  end();
  await happens('heartbeat');
  await happens('join');
  assert.equal(asked(), 1);
});
