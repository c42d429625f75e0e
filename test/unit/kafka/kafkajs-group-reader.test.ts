import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kafka } from 'kafkajs';
import { createKafkajsGroupReader } from '../../../src/kafka/kafkajs-group-reader.ts';
import { loadKafkajs } from '../../../src/kafka/kafkajs-patches.ts';
import { DEFAULT_TUNING } from '../../../src/kafka/tuning.ts';
import { SteppedClock, settle } from './stepped-clock.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** A member over a fake kafkajs consumer; `tell` raises one of its events. */
function member({ stopped = new AbortController() } = {}) {
  const clock = new SteppedClock();
  const calls: string[] = [];
  const configs: object[] = [];
  const listeners: Record<string, (event: { payload: object }) => void> = {};
  const call =
    (name: string) =>
    async (...args: unknown[]) =>
      void calls.push([name, ...args.map((arg) => JSON.stringify(arg))].join(' '));
  const consumer = (config: object) => {
    configs.push(config);
    return {
      events: { CRASH: 'crash', END_BATCH_PROCESS: 'end', GROUP_JOIN: 'join', FETCH: 'fetch' },
      on: (name: string, listener: (event: { payload: object }) => void) =>
        Object.assign(listeners, { [name]: listener }),
      connect: call('connect'),
      subscribe: call('subscribe'),
      run: async () => {},
      pause: () => {
        throw new Error('there is no group');
      },
      seek: call('seek'),
      resume: call('resume'),
      disconnect: call('disconnect'),
    };
  };
  const kafka = { consumer } as unknown as Kafka;
  const reader = createKafkajsGroupReader({
    kafkajs: loadKafkajs(),
    kafka,
    tuning: DEFAULT_TUNING,
    clock,
    log: silent,
  });
  const signals: AbortSignal[] = [];
  const ended = reader.run({
    groupId: 'g',
    topics: ['t'],
    signal: stopped.signal,
    async assigned(_partition, signal) {
      signals.push(signal);
      return { position: () => 3n, take: async () => {} };
    },
  });
  ended.catch(() => {});
  const tell = (name: string, payload: object) => listeners[name]?.({ payload });
  return { calls, configs, clock, ended, signals, tell, reader };
}

test('a crashed consumer ends the run, loses every partition, and leaves', async () => {
  const { calls, ended, signals, tell } = member();
  tell('join', { memberAssignment: { t: [0] } });
  await settle();
  assert.ok(calls.includes('seek {"topic":"t","partition":0,"offset":"3"}'), calls.join('\n'));
  tell('crash', { error: new Error('INVALID_PRODUCER_EPOCH'), restart: false });
  await assert.rejects(ended, { code: 'KAFKA_UNREACHABLE', action: 'retry' });
  assert.equal(signals[0]?.aborted, true);
  assert.equal(calls.at(-1), 'disconnect');
});

test('a consumer whose fetches get no answers ends the run', async () => {
  const { clock, ended, tell } = member();
  await settle();
  await clock.advance(DEFAULT_TUNING.readStallMs - 1);
  tell('fetch', {});
  await clock.advance(DEFAULT_TUNING.readStallMs - 1);
  tell('fetch', {});
  await clock.advance(DEFAULT_TUNING.readStallMs + 1);
  await assert.rejects(ended, { code: 'KAFKA_UNREACHABLE' });
});

test('a dead member is found out within seconds, and a crashed consumer is never restarted by kafkajs', async () => {
  const { configs, reader } = member();
  const [config] = configs as { retry: { restartOnFailure(): Promise<boolean> }; sessionTimeout: number }[];
  assert.equal(config?.sessionTimeout, 6_000);
  assert.equal(await config?.retry.restartOnFailure(), false);
  await reader.close();
});
