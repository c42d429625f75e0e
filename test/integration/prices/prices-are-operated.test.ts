import assert from 'node:assert/strict';
import { type AdministeredConnector, INSTRUMENTS, testAdmin } from '../../support/connectors/admin-connector.ts';
import { priceViolations } from '../../support/ledgers/price-log.ts';
import { fencePrices, onceRight, pricesOnTopics, unansweredInputs } from '../../support/ledgers/prices-on-topics.ts';
import { scraped } from '../../support/ledgers/scraped.ts';

const CHANGES = 20;
const PARTITIONS = 6;
const PRICED = { prices: '{ linger: 50ms, kinds: { overview: { refreshInterval: 1s } } }' };

/** Waits until the processor has this state in both interfaces for machines, and prices so many partitions. */
async function shows(connector: AdministeredConnector, states: string, status: string, partitions: number) {
  await connector.states('prices', states);
  await onceRight(async () => {
    const metrics = scraped(String((await connector.get('/metrics')).body));
    const held = metrics.get('spconnect_prices_partitions') ?? 0;
    const is = metrics.get(`spconnect_prices_status{status="${status}"}`);
    return is === 1 && held === partitions ? null : `${status} is ${is}, ${held} partitions are held`;
  });
}

testAdmin(
  'a paused or stopped processor asks for nothing, over a restart too, and misses no record once it goes on',
  PRICED,
  async (t, world) => {
    const { simulator, kafka, prefix } = world;
    let calls = 0;
    t.after(simulator.onRequest((endpoint) => (calls += endpoint === 'bulk' ? 1 : 0)));
    const restsFor = async (ms: number) => {
      const before = calls;
      await new Promise((resolve) => setTimeout(resolve, ms));
      assert.equal(calls, before, 'each instrument is asked for every second otherwise');
    };
    /** Changes instruments and waits until so many records of them are on the topic. */
    const change = async (all: number) => {
      simulator.change(CHANGES);
      await onceRight(async () => {
        const found = await unansweredInputs(kafka, prefix);
        return found.all < all ? `${found.all} records` : null;
      });
    };
    const answered = () =>
      onceRight(async () => {
        const { waiting, all } = await unansweredInputs(kafka, prefix);
        return waiting > 0 || all < INSTRUMENTS ? `${waiting} of ${all} wait` : null;
      });

    const first = await world.start();
    await shows(first, 'RUNNING RUNNING', 'running', PARTITIONS);
    await answered();
    assert.equal((await first.change('PUT', '/connectors/prices/pause')).status, 202);
    await shows(first, 'PAUSED PAUSED', 'paused', 0);
    assert.equal((await first.get('/readyz')).status, 200);
    await restsFor(1_500);
    await change(INSTRUMENTS + 1);
    await first.stop();

    const second = await world.start();
    await second.event('writerOpened');
    await shows(second, 'PAUSED PAUSED', 'paused', 0);
    await restsFor(1_000);
    const { waiting } = await unansweredInputs(kafka, prefix);
    assert.ok(waiting > 0, 'what changed meanwhile waits');
    assert.equal((await world.spconnect('resume prices')).code, 0);
    await shows(second, 'RUNNING RUNNING', 'running', PARTITIONS);
    await answered();

    assert.equal((await second.change('PUT', '/connectors/prices/stop')).status, 204);
    await shows(second, 'STOPPED', 'stopped', 0);
    await restsFor(1_000);
    const committed = Array.from({ length: PARTITIONS }, async (_, partition) => {
      const place = { topic: `${prefix}.instruments`, partition };
      const next = (await kafka.consumerOffset(`${prefix}-prices`, place, t.signal))?.offset ?? null;
      return {
        partition: { kafka_topic: place.topic, kafka_partition: partition },
        offset: { kafka_offset: Number(next) },
      };
    });
    assert.deepEqual((await second.get('/connectors/prices/offsets')).body, { offsets: await Promise.all(committed) });
    assert.equal((await second.change('PUT', '/connectors/prices/resume')).status, 202);
    await shows(second, 'RUNNING RUNNING', 'running', PARTITIONS);
    const assignments = () => second.fieldsOf('partitionAssigned').length;
    const before = assignments();
    assert.equal((await second.change('POST', '/connectors/prices/restart?includeTasks=true')).status, 202);
    await onceRight(() => (assignments() < before + PARTITIONS ? `${assignments()} assignments` : null));
    await answered();
    await second.stop();
    await fencePrices(kafka, prefix);
    assert.deepEqual(priceViolations(await pricesOnTopics(kafka, prefix)), []);
  },
);

testAdmin(
  'a failed processor ends readiness and no source, and a restart lets it go on without a repetition',
  PRICED,
  async (_t, world) => {
    const { stack, kafka, prefix } = world;
    const subject = `${stack.registryUrl}/subjects/${prefix}.prices-value`;
    const foreign = { type: 'record', name: 'Foreign', fields: [{ name: 'id', type: 'boolean' }] };
    const registered = await fetch(`${subject}/versions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ schema: JSON.stringify(foreign) }),
    });
    assert.equal(registered.status, 200);
    const connector = await world.start();
    const failed = await connector.event('processorFailed');
    assert.equal(failed.fields.err.code, 'SCHEMA_INCOMPATIBLE');
    await shows(connector, 'RUNNING FAILED', 'failed', 0);
    const readiness = await connector.get('/readyz');
    assert.equal(readiness.status, 503);
    assert.match(String(readiness.body), /prices: failed: SCHEMA_INCOMPATIBLE/);
    assert.equal((await connector.get('/livez')).status, 200);
    await connector.event('walkCompleted');
    await connector.states('instruments', 'RUNNING RUNNING');

    assert.equal((await fetch(subject, { method: 'DELETE' })).status, 200);
    const asked = await connector.change('POST', '/connectors/prices/restart?includeTasks=true&onlyFailed=true');
    assert.equal(asked.status, 202);
    await shows(connector, 'RUNNING RUNNING', 'running', PARTITIONS);
    await onceRight(async () => {
      const { waiting, all } = await unansweredInputs(kafka, prefix);
      return waiting > 0 || all < INSTRUMENTS ? `${waiting} of ${all} wait` : null;
    });
    assert.equal((await connector.get('/readyz')).status, 200);
    assert.deepEqual(await connector.stop(), []);
    await fencePrices(kafka, prefix);
    assert.deepEqual(priceViolations(await pricesOnTopics(kafka, prefix)), []);
  },
);
