import assert from 'node:assert/strict';
import type { Kafka } from 'kafkajs';
import { testNeighbours } from '../../support/connectors/neighbours.ts';
import { hookTransactions, type TransactionHooks } from '../../support/kafka/kafka-real.ts';
import { setTopic } from '../../support/kafka/raw-kafkajs.ts';
import { eventually } from '../../support/runner/eventually.ts';

/** Takes some events, and not the hundred of one answer. */
const SMALL_BATCH_BYTES = '32768';
const EVENTS_OF_ONE_ANSWER = 100;

const TITLE = 'what Kafka refuses of one source stops that one or nobody, and its neighbours on the same writer go on';

// Not compressed, so that the size of a batch is that of its events.
testNeighbours(TITLE, { count: 4, kafka: ', compression: none' }, async (t, beside) => {
  const { simulator, prefix, writesOn } = beside;
  const topicOf = (name: string) => `${prefix}.${name}`;
  const admin = beside.broker.plain().admin();
  const [calm = '', failing = '', small = '', gone = ''] = beside.names;
  await admin.connect();
  t.after(() => admin.disconnect());
  let fails: 'nothing' | 'pages' | 'all' = 'nothing';
  let alsoFails = failing;
  const send: TransactionHooks['send'] = (really, _call, topics) => {
    const isPage = topics.length > 1;
    const isFailing = [failing, alsoFails].some((name) => topics.includes(topicOf(name)));
    if (isFailing && (fails === 'all' || (fails === 'pages' && isPage))) {
      return Promise.reject(new Error('the broker of this topic answers nothing'));
    }
    return really();
  };
  const verifications = new Set<string>();
  const wrapKafka = (kafka: Kafka) => {
    const hooked = hookTransactions({ send })(kafka);
    const producer: Kafka['producer'] = (config) => {
      const id = config?.transactionalId ?? '';
      if (id.includes('-trial')) verifications.add(id);
      return hooked.producer(config);
    };
    return Object.assign(Object.create(hooked), { producer });
  };
  const connector = await beside.start({ overrides: { wrapKafka } });
  const seen = connector.fieldsOf;
  await connector.event('writerOpened');
  for (const name of beside.names) await writesOn(name);

  for (const [what, fault] of [
    ['pages that always fail', 'pages'],
    ['a topic that takes no record at all', 'all'],
  ] as const) {
    await t.test(`${what}: the source is held back, and goes on once it can`, async () => {
      const lost = seen('writerLost').length;
      fails = fault;
      const happen = () => {
        simulator.change(1);
        return seen('writerLost').length;
      };
      await eventually('the writer is lost', happen, (times) => times > lost);
      for (let times = 0; times < 3; times++) for (const name of [calm, small, gone]) await writesOn(name);
      fails = 'nothing';
      await writesOn(failing);
      assert.deepEqual(seen('sourceFailed'), []);
    });
  }

  await t.test('two such topics at once: the verification of one fences not that of the other', async () => {
    verifications.clear();
    [fails, alsoFails] = ['all', small];
    const happen = () => {
      simulator.change(1);
      return verifications.size;
    };
    await eventually('both are tried', happen, (count) => count === 2);
    [fails, alsoFails] = ['nothing', failing];
    for (const name of beside.names) await writesOn(name);
    assert.deepEqual(seen('sourceFailed'), []);
  });

  await t.test('a topic that takes smaller batches than before: they are cut to what it takes', async () => {
    await setTopic(admin, topicOf(small), 'max.message.bytes', SMALL_BATCH_BYTES);
    for (let times = 0; times < 2; times++) {
      simulator.change(EVENTS_OF_ONE_ANSWER);
      for (const name of beside.names) await writesOn(name);
    }
    assert.deepEqual(seen('sourceFailed'), []);
  });

  await t.test('a topic that is deleted: its source waits until it is there again', async () => {
    const lost = seen('writerLost').length;
    await admin.deleteTopics({ topics: [topicOf(gone)] });
    const deleted = () => {
      simulator.change(1);
      return seen('writerLost').slice(lost);
    };
    const losses = await eventually('the writer is lost', deleted, ({ length }) => length > 0);
    for (const name of [calm, failing, small]) await writesOn(name);
    assert.equal(losses.at(-1)?.err.code, 'TOPIC_DELETED');
    assert.match(String(losses.at(-1)?.err.message), new RegExp(`no topic ${topicOf(gone)}, .*topics create`));
    await admin.createTopics({ topics: [{ topic: topicOf(gone), numPartitions: 6, replicationFactor: 1 }] });
    await writesOn(gone);
    assert.deepEqual(seen('sourceFailed'), []);
  });
});
