import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type TopicFacts, topicRefused } from '../../../../src/kafka/kafkajs/topic-refusal.ts';
import { TopicLimits } from '../../../../src/kafka/topic-limits.ts';

const TOPICS = ['p.rows', 'p.letters'];
const FACTS: TopicFacts = { missing: async () => ['p.rows'], takeLessThanKnown: async () => false };

const wrapped = (type: string, more: object = {}) =>
  new Error('retries exceeded', { cause: Object.assign(new Error('refused'), { type, ...more }) });

for (const [type, advice] of [
  ['UNKNOWN_TOPIC_OR_PARTITION', /refuses what is written to p\.rows \(.*Create the topic again/],
  ['TOPIC_AUTHORIZATION_FAILED', /p\.rows or p\.letters .*rights/],
  ['MESSAGE_TOO_LARGE', /p\.rows or p\.letters .*max\.message\.bytes/],
  ['INVALID_RECORD', /p\.rows or p\.letters .*settings/],
] as const) {
  test(`${type} is a refusal that no repetition mends, and says what to do`, async () => {
    const refused = await topicRefused(wrapped(type), TOPICS, FACTS);
    assert.equal(refused?.code, 'TOPIC_REFUSED');
    assert.equal(refused?.action, 'stopSource');
    assert.match(refused?.message ?? '', advice);
    assert.match(refused?.message ?? '', /[\w)`]\.$/, 'a whole sentence');
  });
}

test('the topic that the error names is the one that is reported', async () => {
  const refused = await topicRefused(wrapped('TOPIC_AUTHORIZATION_FAILED', { topic: 'p.letters' }), TOPICS, FACTS);
  assert.deepEqual(refused?.fields, { topics: ['p.letters'] });
});

test('a topic that is there after all, or takes less than was known, may be written to another time', async () => {
  const facts = { missing: async () => [], takeLessThanKnown: async () => true };
  for (const type of ['UNKNOWN_TOPIC_OR_PARTITION', 'MESSAGE_TOO_LARGE']) {
    assert.equal(await topicRefused(wrapped(type), TOPICS, facts), undefined, type);
  }
});

test('what passes with time, or cannot be looked at, is no refusal', async () => {
  for (const type of ['NOT_ENOUGH_REPLICAS', 'NOT_LEADER_FOR_PARTITION', 'INVALID_PRODUCER_EPOCH']) {
    assert.equal(await topicRefused(wrapped(type), TOPICS, FACTS), undefined, type);
  }
  assert.equal(await topicRefused(new Error('the connection is gone'), TOPICS, FACTS), undefined);
  const silent = { ...FACTS, missing: () => Promise.reject(new Error('no broker answers')) };
  assert.equal(await topicRefused(wrapped('UNKNOWN_TOPIC_OR_PARTITION'), TOPICS, silent), undefined);
});

test('limits of topics are known once they were asked for, and report when they became smaller', () => {
  const limits = new TopicLimits();
  assert.equal(limits.of('p.rows'), undefined);
  limits.learn(new Map([['p.rows', 1_000]]));
  assert.equal(limits.of('p.rows'), 1_000);
  assert.equal(limits.learn(new Map([['p.rows', 1_000]])), false);
  assert.equal(limits.learn(new Map([['p.rows', 900]])), true);
  assert.equal(limits.of('p.rows'), 900);
});
