import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type Installation, testInstallation } from '../../support/connectors/installation.ts';
import { fencePrices, onceRight, pricesOnTopics, unansweredInputs } from '../../support/ledgers/prices-on-topics.ts';

const INSTRUMENTS = 60;
const SCENE = {
  simulator: { instruments: INSTRUMENTS },
  source: { walkInterval: '365d' },
  prices: '{ linger: 50ms, kinds: { overview: { refreshInterval: 1h } } }',
};

/** `meanwhile`: runs while the topics are missing. */
function replacing(t: TestContext, { broker, kafka, plan }: Installation, meanwhile?: () => Promise<unknown>) {
  return async (...roles: (keyof typeof plan)[]) => {
    const admin = broker.plain().admin();
    await admin.connect();
    t.after(() => admin.disconnect());
    const specifications = roles.map((role) => plan[role]);
    const names = specifications.map(({ name }) => name);
    const before = await kafka.topicIds(names, t.signal);
    await admin.deleteTopics({ topics: names });
    await meanwhile?.();
    // A broker may show a deleted topic for a while.
    await onceRight(async () => {
      await kafka.ensureTopics(specifications, { create: true });
      const now = await kafka.topicIds(names, t.signal);
      const left = names.filter((name) => !now.has(name) || now.get(name) === before.get(name));
      return left.length === 0 ? null : `${left} not created again`;
    });
  };
}

testInstallation(
  'a topic of instruments that is deleted and created again is filled by a walk at once, and priced',
  SCENE,
  async (t, at) => {
    const { simulator, kafka, prefix, start } = at;
    const replace = replacing(t, at);
    const filled = () =>
      onceRight(async () => {
        const { waiting, all } = await unansweredInputs(kafka, prefix);
        return waiting > 0 || all < INSTRUMENTS ? `${waiting} of ${all} records wait for a price` : null;
      });
    const started = (connector: Awaited<ReturnType<typeof start>>) =>
      connector.fieldsOf('walkStarted').map(({ why }) => why);

    const first = await start();
    await filled();

    await replace('instruments', 'instrument-events', 'prices');
    await filled();
    assert.deepEqual(started(first), ['first', 'topicReplaced']);
    const { offset } = simulator.publish({ kind: 'datachange', id: [...simulator.ledger.instruments()][0]?.id ?? '' });
    await onceRight(async () => {
      const events = await at.read('instrument-events');
      return events.length === 1 ? null : `${events.length} events, and not that at ${offset}`;
    });
    await first.stop();

    await replace('instruments');
    const second = await start();
    await filled();
    assert.deepEqual(started(second), ['topicReplaced']);
    const notified = await at.read('notifications');
    const why = notified.flatMap(({ value }) => String(value).match(/deleted, created again or renamed/) ?? []);
    assert.equal(why.length, 2);
    await second.stop();
    await fencePrices(kafka, prefix);
    const { inputs, results } = await pricesOnTopics(kafka, prefix);
    const priced = new Set(results.flatMap(({ kind, id }) => (kind === 'price' ? [id] : [])));
    assert.deepEqual(priced, new Set(inputs.map(({ id }) => id)));
  },
);

testInstallation('commands count on a topic of states that is deleted and created again', SCENE, async (t, at) => {
  const { start, spconnect } = at;
  const connector = await start();
  await connector.event('walkCompleted');
  for (const _ of [1, 2, 3]) await spconnect('resume instruments');
  await replacing(t, at)('states');
  await spconnect('pause instruments');
  await connector.event('sourcePaused');
  await connector.stop();
});

testInstallation(
  'a source whose offsets topic is gone starts as a new one, and says what is lost',
  SCENE,
  async (t, at) => {
    const { simulator, start, read } = at;
    const [{ id = '' } = {}] = simulator.ledger.instruments();
    const change = () => String(simulator.publish({ kind: 'datachange', id }).offset);
    const isRead = (count: number) =>
      onceRight(async () => ((await read('instrument-events')).length >= count ? null : 'not read yet'));
    const first = await start();
    await first.event('walkCompleted');
    const before = change();
    await isRead(1);
    const since = change();
    await isRead(2);
    await first.stop();
    await replacing(t, at)('offsets');
    change();
    const second = await start();
    await second.event('walkCompleted');
    await second.stop();
    const texts = (await read('notifications')).map(({ value }) => String(value));
    const lost = texts.filter((text) => text.includes('offset-reset'));
    assert.equal(lost.length, 1);
    assert.match(
      lost[0] ?? '',
      /its topic was deleted\. The stream continues from now.* offsets set instruments --since \d+-\d+ goes back\./,
    );
    assert.ok(lost[0]?.includes(before) && !lost[0].includes(since), 'the place of the newest record');
  },
);

testInstallation('a running source keeps its offset when the offsets topic is created again', SCENE, async (t, at) => {
  const { simulator, start, read } = at;
  const [{ id = '' } = {}] = simulator.ledger.instruments();
  const change = () => simulator.publish({ kind: 'datachange', id });
  const isRead = (topic: string, count: number) =>
    onceRight(async () => ((await read(topic)).length >= count ? null : 'not read yet'));
  const first = await start();
  await first.event('walkCompleted');
  const resets = async () =>
    (await read('notifications')).filter(({ value }) => String(value).includes('offset-reset')).length;
  change();
  await isRead('instrument-events', 1);
  // A process that finds no topic for longer leaves its group, and forgets the offset.
  for (let tries = 1, isKept = false; !isKept; tries++) {
    assert.ok(tries <= 3, 'it never kept its offset');
    const before = await resets();
    await replacing(t, at)('offsets');
    await isRead('offsets', 1);
    isKept = (await resets()) === before;
    if (!isKept) await first.until('its walk', () => first.fieldsOf('walkCompleted').length > tries);
  }
  const before = await resets();
  await first.stop();
  change();
  const second = await start();
  await isRead('instrument-events', 2);
  await second.stop();
  assert.deepEqual(second.fieldsOf('walkStarted'), []);
  assert.equal(await resets(), before);
});

testInstallation(
  'events that come while their topic is missing are written once, after its creation',
  SCENE,
  async (t, at) => {
    const { simulator, start, read } = at;
    const ids = [...simulator.ledger.instruments()].map(({ id }) => String(id));
    const connector = await start();
    await connector.event('walkCompleted');
    const change = () => {
      const id = ids.pop() ?? '';
      simulator.publish({ kind: 'datachange', id });
      return id;
    };
    const published: string[] = [];
    await replacing(t, at, async () => {
      const isLost = () => connector.fieldsOf('writerLost').some(({ err }) => err.code === 'TOPIC_DELETED');
      await onceRight(() => (isLost() ? null : `it still writes ${change()}`));
      published.push(change(), change(), change());
    })('instrument-events');
    const written = async () => (await read('instrument-events')).map(({ key }) => String(key));
    const isWritten = (keys: readonly string[]) => published.every((id) => keys.includes(id));
    await onceRight(async () => (isWritten(await written()) ? null : 'not all are written'));
    await connector.stop();
    const keys = await written();
    assert.equal(new Set(keys).size, keys.length, 'none is written twice');
    assert.ok(keys.length > published.length, 'the page that failed is written too');
    assert.deepEqual(connector.fieldsOf('sourceFailed'), []);
  },
);
