import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memberFailed, type TopicFacts, topicRefused } from '../../../../src/kafka/kafkajs/refusals.ts';

const TOPICS = ['p.rows', 'p.letters'];
const FACTS: TopicFacts = { missing: async () => ['p.rows'], learnLimits: async () => {} };

const wrapped = (type: string, more: object = {}) =>
  new Error('retries exceeded', { cause: Object.assign(new Error('refused'), { type, ...more }) });

for (const [type, advice] of [
  ['TOPIC_AUTHORIZATION_FAILED', /p\.rows or p\.letters .*rights/],
  ['MESSAGE_TOO_LARGE', /p\.rows or p\.letters .*max\.message\.bytes/],
  ['INVALID_RECORD', /p\.rows or p\.letters .*settings/],
] as const) {
  test(`${type} is a refusal that no repetition mends, and says what to do`, async () => {
    const refused = await topicRefused(wrapped(type, { refusedRecords: 1 }), TOPICS, FACTS);
    assert.equal(refused?.code, 'TOPIC_REFUSED');
    assert.equal(refused?.action, 'stopSource');
    assert.match(refused?.message ?? '', advice);
    assert.match(refused?.message ?? '', /[\w)`]\.$/, 'a whole sentence');
  });
}

test('the command that gives a right can be run on a secured cluster', () => {
  const refused = memberFailed(wrapped('GROUP_AUTHORIZATION_FAILED'), { groupId: 'p-prices', topics: TOPICS });
  const command =
    /kafka-acls\.sh --bootstrap-server <broker> --command-config <admin\.properties> --add .* --group p-prices\./;
  assert.match(refused.message, command);
});

test('a session timeout outside the limits of the brokers names its setting, and stops', () => {
  const refused = memberFailed(wrapped('INVALID_SESSION_TIMEOUT'), { groupId: 'p-sources', topics: TOPICS });
  assert.deepEqual([refused.code, refused.action], ['WRITER_REFUSED', 'stopSource']);
  assert.match(refused.message, /Raise kafka\.sessionTimeout, or lower group\.min\.session\.timeout\.ms/);
});

test('a group whose topic is missing says which, and is tried again', () => {
  const cause = wrapped('UNKNOWN_TOPIC_OR_PARTITION', { topics: ['p.letters'] });
  const failed = memberFailed(cause, { groupId: 'p-prices', topics: TOPICS });
  assert.deepEqual([failed.code, failed.action], ['TOPIC_DELETED', 'retry']);
  assert.match(failed.message, /no topic p\.letters, .*`spconnect topics create`\. Then/);
});

test('a topic that is missing can be written to after its creation', async () => {
  const refused = await topicRefused(wrapped('UNKNOWN_TOPIC_OR_PARTITION'), TOPICS, FACTS);
  assert.deepEqual(
    [refused?.code, refused?.action, refused?.fields],
    ['TOPIC_DELETED', 'retry', { topics: ['p.rows'] }],
  );
  assert.match(refused?.message ?? '', /no topic p\.rows, .*`spconnect topics create`\. Then/);
});

test('the topic that the error names is the one that is reported', async () => {
  const refused = await topicRefused(wrapped('TOPIC_AUTHORIZATION_FAILED', { topic: 'p.letters' }), TOPICS, FACTS);
  assert.deepEqual(refused?.fields, { topics: ['p.letters'] });
});

test('a topic that is there after all may be written to another time', async () => {
  const facts = { ...FACTS, missing: async () => [] };
  assert.equal(await topicRefused(wrapped('UNKNOWN_TOPIC_OR_PARTITION'), TOPICS, facts), undefined);
});

test('a batch of several records that is too large is cut by the limit as it is now', async () => {
  const learnt: (readonly string[])[] = [];
  const facts = { ...FACTS, learnLimits: async (topics: readonly string[]) => void learnt.push(topics) };
  for (const type of ['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE']) {
    const cause = wrapped(type, { topic: 'p.letters', refusedRecords: 2 });
    assert.equal(await topicRefused(cause, TOPICS, facts), undefined, type);
  }
  assert.deepEqual(learnt, [['p.letters'], ['p.letters']]);
});

test('what passes with time, or cannot be looked at, is no refusal', async () => {
  for (const type of ['NOT_ENOUGH_REPLICAS', 'NOT_LEADER_FOR_PARTITION', 'INVALID_PRODUCER_EPOCH']) {
    assert.equal(await topicRefused(wrapped(type), TOPICS, FACTS), undefined, type);
  }
  assert.equal(await topicRefused(new Error('the connection is gone'), TOPICS, FACTS), undefined);
  const silent = { ...FACTS, missing: () => Promise.reject(new Error('no broker answers')) };
  assert.equal(await topicRefused(wrapped('UNKNOWN_TOPIC_OR_PARTITION'), TOPICS, silent), undefined);
});
