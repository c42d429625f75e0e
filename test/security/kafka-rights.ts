import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Simulator } from '../../src/dev/simulator/simulator.ts';
import { connectKafka } from '../../src/kafka/kafkajs/kafkajs-cluster.ts';
import { offsetKey, offsetPartition } from '../../src/kafka/offset-store.ts';
import { systemClock } from '../../src/support/clock.ts';
import { createMemoryRegistry } from '../support/connectors/memory-scene.ts';
import { namesOnOnePartition } from '../support/connectors/neighbours.ts';
import { NOWHERE, startConnector } from '../support/connectors/running-connector.ts';
import { allow, DENIED, deny } from '../support/kafka/kafka-rights.ts';
import { PASSWORD, type SecuredKafka, USER } from '../support/kafka/secured-kafka.ts';
import { uniquePrefix } from '../support/kafka/stack.ts';
import { eventually } from '../support/runner/eventually.ts';

const PRINCIPAL = `User:${USER}`;

export interface SecuredScene {
  readonly kafka: SecuredKafka;
  readonly simulator: Simulator;
}

/** What a right that is missing stops, on a broker that goes by rules. */
export async function checkRights(t: TestContext, { kafka, simulator }: SecuredScene): Promise<void> {
  const start = async (t: TestContext, prefix: string, names: readonly string[]) => {
    const source = names.map((name) => {
      return { name, type: 'events', topics: `{ instrument-events: ${name} }`, pollInterval: '100ms' } as const;
    });
    const login = `, sasl: { mechanism: scram-sha-512, username: ${USER}, password: ${PASSWORD} }`;
    const stack = { ...NOWHERE, brokers: [kafka.at.CLEAR] };
    const overrides = { registry: createMemoryRegistry() };
    const connector = await startConnector(t, { stack, simulator, prefix, kafka: login, source, overrides });
    const seen = connector.fieldsOf;
    const committed = (name: string) => seen('streamCommitted').filter((fields) => fields.source === name).length;
    const whileThingsHappen = <Seen>(look: () => Seen) => {
      simulator.change(1);
      return look();
    };
    return {
      seen,
      ended: connector.ended,
      async goesOn(name: string) {
        const before = committed(name);
        const more = () => whileThingsHappen(() => committed(name));
        await eventually(`${name} goes on`, more, (count) => count > before);
      },
      async failures(count: number) {
        const failed = () => whileThingsHappen(() => seen('sourceFailed'));
        return eventually('it has failed', failed, ({ length }) => length >= count);
      },
    };
  };

  await t.test('with the rights of the README a writer learns how its last transaction ended', async (t) => {
    const prefix = uniquePrefix('tls');
    await allow(kafka, PRINCIPAL, prefix);
    const lines: string[] = [];
    const log = { debug: (_fields: object, line: string) => void lines.push(line), info() {}, warn() {}, error() {} };
    const cluster = connectKafka({
      brokers: [kafka.at.CLEAR],
      clientId: 'test',
      sasl: { mechanism: 'scram-sha-512', username: USER, password: PASSWORD },
      clock: systemClock,
      random: Math.random,
      log,
    });
    t.after(() => cluster.close());
    const topic = { name: `${prefix}.rows`, partitions: 1, replicationFactor: 1, settings: {} };
    await cluster.ensureTopics([topic], { create: true });
    const at = { topic: topic.name, partition: 0 };
    const writer = cluster.transactionalWriter(`${prefix}-rows`, { abortHanging: () => [at] });
    const learned = () => lines.filter((line) => line.includes('the last transaction was committed')).length;
    await writer.open(async () => {}, t.signal);
    await writer.commit({ records: [{ ...at, key: Buffer.from('k'), value: Buffer.from('v'), headers: {} }] });
    assert.equal(learned(), 0);
    await writer.open(async () => {}, t.signal);
    assert.equal(learned(), 1);
  });

  await t.test('a right that is taken away on one topic stops its source alone, and says which right', async (t) => {
    const prefix = uniquePrefix('tls');
    await allow(kafka, PRINCIPAL, prefix);
    const [kept = '', barred = ''] = namesOnOnePartition(2);
    const { seen, goesOn, failures } = await start(t, prefix, [kept, barred]);
    await goesOn(barred);
    await deny(kafka, PRINCIPAL, `${prefix}.${barred}`, DENIED.writeTo);
    const [failure] = await failures(1);
    assert.deepEqual([failure.source, failure.err.code], [barred, 'TOPIC_REFUSED']);
    assert.match(failure.err.message, /TOPIC_AUTHORIZATION_FAILED.*Give the connector its rights on the topic/);
    // Of all that the transaction wrote to, the one that was refused.
    assert.deepEqual(failure.err.fields.topics, [`${prefix}.${barred}`]);
    await goesOn(kept);
    assert.equal(seen('sourceFailed').length, 1);
  });

  await t.test(
    'topics that we may not create, or not describe, stop their sources at the start; the others run',
    async (t) => {
      const prefix = uniquePrefix('tls');
      await allow(kafka, PRINCIPAL, prefix);
      const [kept = '', uncreated = '', undescribed = ''] = namesOnOnePartition(3);
      await deny(kafka, PRINCIPAL, `${prefix}.${uncreated}`, DENIED.create);
      await deny(kafka, PRINCIPAL, `${prefix}.${undescribed}`, DENIED.describeConfigs);
      const { seen, goesOn, failures } = await start(t, prefix, [kept, uncreated, undescribed]);
      await goesOn(kept);
      const failed = await failures(2);
      assert.deepEqual(
        new Map(failed.map(({ source, err }) => [source, err.code])),
        new Map([
          [uncreated, 'TOPIC_NOT_CREATED'],
          [undescribed, 'TOPIC_REFUSED'],
        ]),
      );
      for (const { source, err } of failed) {
        assert.match(err.message, new RegExp(`topic ${prefix}\\.${source} .*TOPIC_AUTHORIZATION_FAILED`));
      }
      await goesOn(kept);
      assert.equal(seen('sourceFailed').length, 2);
    },
  );

  await t.test('a transactional id that is refused stops its sources once, and the text has the rule', async (t) => {
    const prefix = uniquePrefix('tls');
    await allow(kafka, PRINCIPAL, prefix);
    const [barred = ''] = namesOnOnePartition(1);
    const partition = offsetPartition(offsetKey(barred, 'events'));
    const id = `${prefix}-sources-${partition}`;
    const kept = 'elsewhere';
    assert.notEqual(offsetPartition(offsetKey(kept, 'events')), partition);
    await deny(kafka, PRINCIPAL, id, DENIED.writeAs);
    const { seen, goesOn, failures } = await start(t, prefix, [kept, barred]);
    const [failure] = await failures(1);
    assert.deepEqual([failure.source, failure.err.code], [barred, 'WRITER_REFUSED']);
    assert.match(failure.err.message, /TRANSACTIONAL_ID_AUTHORIZATION_FAILED/);
    assert.ok(failure.err.message.includes(`--operation Write --transactional-id ${id}`), failure.err.message);
    await goesOn(kept);
    await goesOn(kept);
    assert.equal(seen('sourceFailed').length, 1);
  });

  await t.test('a group of replicas that is refused stops every source once, and the text has the rule', async (t) => {
    const prefix = uniquePrefix('tls');
    await allow(kafka, PRINCIPAL, prefix);
    const group = `${prefix}-sources`;
    await deny(kafka, PRINCIPAL, group, DENIED.join);
    const names = ['one', 'two'];
    const { seen, ended } = await start(t, prefix, names);
    // Not tried again: with nothing left to run, and no operator who could help, it ends.
    assert.deepEqual((await ended).toSorted(), names);
    const failed = seen('sourceFailed');
    assert.deepEqual(failed.map(({ source }) => source).toSorted(), names);
    for (const { err } of failed) {
      assert.equal(err.code, 'WRITER_REFUSED');
      assert.match(err.message, /GROUP_AUTHORIZATION_FAILED/);
      assert.ok(err.message.includes(`--operation Read --group ${group}`), err.message);
    }
  });
}
