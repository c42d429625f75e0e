import assert from 'node:assert/strict';
import { testAdmin } from '../../support/connectors/admin-connector.ts';
import { setTopic } from '../../support/kafka/raw-kafkajs.ts';
import { scraped } from '../../support/ledgers/scraped.ts';
import { eventually } from '../../support/runner/eventually.ts';

const TITLE =
  'a topic that is wrong at the start stops the source or the prices that need it, until it is mended; the others run';

testAdmin(TITLE, { prices: '{}' }, async (t, world) => {
  const { kafka, simulator, prefix, plan } = world;
  const admin = world.broker.plain().admin();
  await admin.connect();
  t.after(() => admin.disconnect());
  const wrong = `${prefix}.wrong`;
  const compacted = { ...plan['instrument-events'], name: wrong, settings: { 'cleanup.policy': 'compact' } };
  await kafka.ensureTopics([compacted, { ...plan.prices, partitions: 2 }], { create: true });

  const source = { name: 'wrong', type: 'events', topics: '{ instrument-events: wrong }', pollInterval: '100ms' };
  const connector = await world.start({}, [source]);
  await connector.event('walkCompleted');
  await connector.states('wrong', 'RUNNING FAILED');
  await connector.states('prices', 'RUNNING FAILED');
  await connector.states('instruments', 'RUNNING RUNNING');
  for (const event of ['sourceFailed', 'processorFailed'] as const) {
    const failed = connector.fieldsOf(event).map(({ source, err }) => [source, err.code]);
    assert.deepEqual(failed, [[event === 'sourceFailed' ? 'wrong' : undefined, 'TOPIC_MISMATCH']]);
  }
  const readiness = await connector.get('/readyz');
  assert.equal(readiness.status, 503);
  assert.match(JSON.stringify(readiness.body), /failed: TOPIC_MISMATCH: Topic [^ ]*wrong has cleanup\.policy=compact/);
  const metrics = scraped(String((await connector.get('/metrics')).body));
  assert.equal(metrics.get('spconnect_source_status{source="wrong",status="failed"}'), 1);

  await setTopic(admin, wrong, 'cleanup.policy', 'delete');
  await admin.deleteTopics({ topics: [plan.prices.name] });
  for (const name of ['wrong', 'prices']) {
    assert.equal((await connector.change('POST', `/connectors/${name}/restart`)).status, 204);
    await connector.states(name, 'RUNNING RUNNING');
  }
  const written = () => {
    simulator.change(1);
    return connector.fieldsOf('streamCommitted').filter(({ source }) => source === 'wrong').length;
  };
  await eventually('the source writes', written, (count) => count > 0);
  await connector.event('batchPriced');
  assert.deepEqual(await connector.stop(), []);
});
