import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { AssignerProtocol, type Kafka, type PartitionAssigner } from 'kafkajs';
import type { OwnershipProof } from '../../../../../src/kafka/group-reader.ts';
import { createKafkajsGroupReader } from '../../../../../src/kafka/kafkajs/group/kafkajs-group-reader.ts';
import { loadKafkajs } from '../../../../../src/kafka/kafkajs/kafkajs-patches.ts';
import { DEFAULT_TUNING, type KafkaTuning } from '../../../../../src/kafka/kafkajs/tuning.ts';
import { SteppedClock, settle } from '../../stepped-clock.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

interface Faults {
  readonly stopped?: AbortController;
  readonly subscribe?: () => Promise<void>;
  readonly tuning?: KafkaTuning;
  /** Of the state of the group; without it the group cannot be asked. */
  readonly group?: () => { readonly state: string; readonly members: readonly unknown[] };
}

/** A member over a fake kafkajs consumer; `emit` raises one of its events. */
function member({ stopped = new AbortController(), subscribe, group, tuning = DEFAULT_TUNING }: Faults = {}) {
  const clock = new SteppedClock();
  const calls: string[] = [];
  const configs: object[] = [];
  const events = new EventEmitter();
  const call =
    (name: string) =>
    async (...args: unknown[]) =>
      void calls.push([name, ...args.map((arg) => JSON.stringify(arg))].join(' '));
  const consumer = (config: object) => {
    configs.push(config);
    return {
      events: {
        CRASH: 'crash',
        END_BATCH_PROCESS: 'end',
        GROUP_JOIN: 'join',
        FETCH: 'fetch',
        REQUEST: 'request',
        HEARTBEAT: 'heartbeat',
      },
      on: (name: string, listener: (event: { payload: object }) => void) => events.on(name, listener),
      connect: call('connect'),
      subscribe: subscribe ?? call('subscribe'),
      run: async () => {},
      pause: () => {
        throw new Error('there is no group');
      },
      seek: call('seek'),
      resume: call('resume'),
      disconnect: call('disconnect'),
    };
  };
  const admin = () => ({
    connect: async () => {
      if (!group) throw new Error('the group cannot be asked');
    },
    describeGroups: async () => ({ groups: [group?.()] }),
    disconnect: call('admin.disconnect'),
  });
  const kafka = { consumer, admin } as unknown as Kafka;
  const reader = createKafkajsGroupReader({
    kafkajs: loadKafkajs(),
    kafka,
    tuning,
    clock,
    log: silent,
  });
  const signals: AbortSignal[] = [];
  const proofs: OwnershipProof['since'][] = [];
  const ended = reader.run({
    groupId: 'g',
    topics: ['t'],
    signal: stopped.signal,
    assignor: {
      name: 's',
      describe: (wasForgotten) => (wasForgotten ? 'nothing' : 'held'),
      assign: (members) => new Map(members.map(({ id }) => [id, [{ topic: 't', partition: 0 }]])),
    },
    async assigned(_partition, signal, ownershipProof) {
      signals.push(signal);
      proofs.push(ownershipProof);
      return { position: () => 3n, take: async () => {} };
    },
  });
  ended.catch(() => {});
  const emit = (name: string, payload: object) => events.emit(name, { payload });
  return { calls, configs, clock, ended, signals, proofs, emit, reader };
}

for (const [groupSessionTimeoutMs, rebalanceMs, stallMs] of [
  [6_000, 20_000, 30_000],
  [45_000, 45_000, 55_000],
] as const) {
  test(`a join with a session time-out of ${groupSessionTimeoutMs} ms ends at the broker before the member gives it up`, async () => {
    const { clock, configs, ended } = member({ tuning: { ...DEFAULT_TUNING, groupSessionTimeoutMs } });
    const [config] = configs as { rebalanceTimeout: number }[];
    assert.equal(config?.rebalanceTimeout, rebalanceMs);
    let isOver = false;
    ended.catch(() => {
      isOver = true;
    });
    await settle();
    await clock.advance(stallMs - 1);
    assert.equal(isOver, false);
    await clock.advance(1);
    await assert.rejects(ended, { code: 'KAFKA_UNREACHABLE' });
  });
}

/** What the member would report of itself, were it to join now. */
function description(config: object | undefined): string {
  const { partitionAssigners } = config as { partitionAssigners: PartitionAssigner[] };
  const assigner = partitionAssigners[0]?.({ cluster: {} as never, groupId: 'g', logger: {} as never });
  const { metadata } = assigner?.protocol({ topics: ['t'] }) ?? { metadata: Buffer.alloc(0) };
  return String(AssignerProtocol.MemberMetadata.decode(metadata)?.userData);
}

test('a member from which the group has not heard for its session time-out reports to the others that it was forgotten', async () => {
  const { clock, configs, reader, emit } = member();
  const heartbeat = (duration: number) => {
    emit('request', { apiName: 'Heartbeat', duration });
    emit('heartbeat', {});
  };
  await settle();
  assert.equal(description(configs[0]), 'nothing', 'who never joined holds nothing');
  emit('join', { memberAssignment: { t: [0] }, duration: 5 });
  assert.equal(description(configs[0]), 'held');
  await clock.advance(DEFAULT_TUNING.groupSessionTimeoutMs - 100);
  heartbeat(5);
  await clock.advance(DEFAULT_TUNING.groupSessionTimeoutMs - 100);
  assert.equal(description(configs[0]), 'held');
  // The answer lay there while the process stood still.
  heartbeat(DEFAULT_TUNING.groupSessionTimeoutMs);
  await clock.advance(200);
  assert.equal(description(configs[0]), 'nothing');
  await reader.close();
});

test('a wall clock that is set back while the group is asked makes no proof for times to come', async () => {
  const { clock, proofs, reader, emit } = member();
  await settle();
  emit('join', { memberAssignment: { t: [0] }, duration: -3_600_000 });
  await settle();
  emit('request', { apiName: 'Heartbeat', duration: -3_600_000 });
  emit('heartbeat', {});
  let isProven = false;
  const proven = proofs[0]?.(clock.monotonicMs() + 1, new AbortController().signal).then(() => {
    isProven = true;
  });
  await settle();
  assert.equal(isProven, false);
  await clock.advance(1_000);
  emit('request', { apiName: 'Heartbeat', duration: 5 });
  emit('heartbeat', {});
  await proven;
  await reader.close();
});

test('a member that may not read its topic ends with the right that it lacks, whether it is refused before its join or after', async () => {
  const { createErrorFromCode } = createRequire(import.meta.url)('kafkajs/src/protocol/error.js');
  const refusal = Object.assign(createErrorFromCode(29), { topics: ['t'] });
  const before = member({ subscribe: () => Promise.reject(refusal) });
  const after = member();
  await settle();
  const exhausted = new Error('tried five times', { cause: refusal });
  after.emit('crash', { error: exhausted, restart: false });
  for (const { ended } of [before, after]) {
    await assert.rejects(ended, {
      code: 'TOPIC_REFUSED',
      fields: { groupId: 'g' },
      message: /group g to read t .*TOPIC_AUTHORIZATION_FAILED.*--operation Read --topic t/,
    });
  }
});
