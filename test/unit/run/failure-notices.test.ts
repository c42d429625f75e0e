import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import { createFailureNotices } from '../../../src/run/source-partitions.ts';
import { createMemoryRegistry } from '../../support/connectors/memory-scene.ts';
import { notificationsOn } from '../../support/ledgers/universe-on-topics.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster } from '../../support/memory-kafka/memory-cluster.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

const { notifications } = topicPlan({ prefix: 'p', names: {}, partitions: 6, replicationFactor: 1 });
const err = new ConnectorError('TOO_MANY_DEAD_LETTERS', 'Half of the rows do not map.');

function createScene(registry = createMemoryRegistry()) {
  const broker = new MemoryBroker(() => 0);
  broker.createTopic(notifications);
  const kafka = createMemoryCluster({ broker });
  const clock = skippingClock();
  const { signal } = new AbortController();
  const notices = createFailureNotices({ prefix: 'p', topic: notifications, kafka, registry, clock, signal });
  return { notices, clock, reported: () => notificationsOn(kafka, 'p') };
}

test('a failed source is reported with its error and what to do about it, each in a transaction of its own', async () => {
  const { notices, clock, reported } = createScene();
  notices.report({ source: 'instruments', err });
  notices.report({ source: 'checks', err });
  await notices.finished();
  const all = await reported();
  assert.deepEqual(all.map(({ source }) => source).sort(), ['checks', 'instruments']);
  const [{ kind, errorCode, message, why, at } = {}] = all;
  assert.deepEqual([kind, errorCode], ['source-failed', 'TOO_MANY_DEAD_LETTERS']);
  assert.match(String(message), /Half of the rows do not map/);
  assert.match(String(why), /raise mapping\.maxDeadLetters/);
  assert.equal(Date.parse(String(at)), clock.wallMs());
});

test('what cannot be written is left to the log', async () => {
  const { notices, reported } = createScene({
    ...createMemoryRegistry(),
    schemaId: async () => {
      throw new ConnectorError('REGISTRY_UNREACHABLE', 'it is down');
    },
  });
  notices.report({ source: 'instruments', err });
  await notices.finished();
  assert.deepEqual(await reported(), []);
});
