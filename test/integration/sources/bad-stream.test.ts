import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Fault } from '../../../src/dev/simulator/faults/fault.ts';
import { followingScene, INSTRUMENTS } from '../../support/connectors/following-scene.ts';
import { PREFIX } from '../../support/connectors/memory-scene.ts';
import { readable } from '../../support/ledgers/readable.ts';
import { notificationsOn, tombstoneIds, universeOnTopics } from '../../support/ledgers/universe-on-topics.ts';

const badAnswers: Record<string, { fault: Fault; discarded?: string; says?: RegExp }> = {
  'events and a cursor that goes back': { fault: { kind: 'links', how: 'lower' }, discarded: 'lower' },
  'events and the same cursor again': { fault: { kind: 'links', how: 'same' }, discarded: 'stuck' },
  'a cursor of another form': { fault: { kind: 'links', how: 'form' }, says: /does not have the form/ },
  'a number as its link': {
    fault: { kind: 'links', how: 'number' },
    says: /a number, a list or an object as links\.next/,
  },
  'null as its link': { fault: { kind: 'links', how: 'end' }, says: /null as links\.next/ },
  'no links': { fault: { kind: 'links', how: 'missing' }, says: /no object "links"/ },
  'an answer from a cache': { fault: { kind: 'headers', headers: { age: '30' } }, says: /cache/ },
  'half a body': { fault: { kind: 'cutJson' }, says: /end/ },
  'a refusal of the offset': { fault: { kind: 'status', status: 410 }, discarded: 'refused' },
};

for (const [what, { fault, discarded, says }] of Object.entries(badAnswers)) {
  test(`${what}: nothing of the answer is taken, it is asked for again, and every event comes once`, async (t) => {
    const { simulator, connector, kafka, change, reached, violations } = await followingScene(t);
    await reached(change(3));
    simulator.injectFaults([{ match: 'events', count: 3, fault }]);
    await reached(change(20));
    if (discarded) {
      const reported = connector.fieldsOf('responseDiscarded').map(({ why }) => why);
      // One of the faults may strike the verification of another offset instead.
      assert.ok(reported.length >= 2, reported.join());
      assert.deepEqual(new Set(reported), new Set([discarded]));
      const refusals = connector
        .fieldsOf('responseDiscarded')
        .map(({ err }) => [err?.code, err?.fields.status].join(' '));
      assert.deepEqual(new Set(refusals), new Set([discarded === 'refused' ? 'PROVIDER_REFUSED 410' : ' ']));
    } else {
      const failed = connector.fieldsOf('attemptFailed').map(({ err }) => err.message);
      assert.equal(failed.length, 3);
      for (const message of failed) {
        assert.match(message, says ?? /never/);
        assert.match(message, /^GET http:[^ ]+\/v1\/instruments\/events of referenceData/);
      }
    }
    assert.deepEqual(await violations(), []);
    const kinds = (await notificationsOn(kafka, PREFIX)).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['walk-completed']);
  });
}

for (const casing of ['lower', 'capitalised'] as const) {
  for (const absent of ['omit', 'null'] as const) {
    test(`events with ${casing} keys, and ${absent} for what is absent, give the records of the list`, async (t) => {
      const { simulator, reached, violations } = await followingScene(t, { eventForm: { casing, absent } });
      simulator.change(60);
      await reached([...simulator.ledger.events()].at(-1)?.offset ?? null);
      // What has vanished without an event is the next walk's.
      const wrong = (await violations()).filter((text) => !text.includes('ghost'));
      assert.deepEqual(wrong, []);
    });
  }
}

test('an event of an unknown type passes through, and its instrument too', async (t) => {
  const { simulator, read, ids, reached, violations } = await followingScene(t);
  const [id = ''] = ids;
  const { text = '' } = [...simulator.ledger.instruments()].find((instrument) => instrument.id === id) ?? {};
  const instrument = text.replace(/"name":"[^"]*"/, '"name":"as it was when it was delisted"');
  await reached(simulator.publish({ kind: 'replace', id, instrument, type: 'delisted' }).offset);
  assert.deepEqual(await violations(), []);
  const [record] = readable(await read('instrument-events'), 'InstrumentEvent');
  assert.equal(record?.type, 'delisted');
});

test('events without an instrument or without an id become one dead letter each, and the others are taken', async (t) => {
  const { simulator, read, connector, change, reached } = await followingScene(t);
  change(10);
  const broken = [
    { envelope: '{"event":{"type":"datachange"},"instrument":null}', pointer: '/instrument' },
    { envelope: '{"event":{"type":"datachange"}}', pointer: '/instrument' },
    { envelope: '{"event":{"type":"datachange"},"instrument":{"name":"no id"}}', pointer: '/instrument/id' },
    { envelope: '{"event":{"type":"datachange"},"instrument":{"id":"x7","name":"no id"}}', pointer: '/instrument/id' },
    { envelope: '{"event":null,"instrument":{"id":1.5}}', pointer: '/instrument/id' },
    { envelope: 'null', pointer: '' },
    { envelope: '"an event"', pointer: '' },
  ];
  for (const { envelope } of broken) simulator.publish({ kind: 'event', envelope });
  await reached(change(10));
  await connector.stop();
  assert.equal((await read('instrument-events')).length, 20);
  const letters = await read('dead-letters');
  const copied = letters.map(({ key, value, headers }) => [key, String(value), headers['spc-pointer']]);
  const expected = broken.map(({ envelope, pointer }) => [null, envelope, pointer]);
  assert.deepEqual(copied, expected);
  for (const { headers } of letters) {
    const reason = headers['__connect.errors.exception.message'] ?? '';
    assert.ok(reason.length > 5 && !reason.includes('x7'), reason);
    assert.equal(headers['__connect.errors.topic'], `${PREFIX}.instrument-events`);
    assert.match(headers['spc-since'] ?? '', /^\d+-\d+$/);
  }
});

test('a live stream that brings a few events at a time stops when too many of the last thousand fail', async (t) => {
  const { simulator, read, connector, change, reached } = await followingScene(t, { answerClamp: 2 });
  await reached(change(5));
  for (let count = 0; count < 40; count++)
    simulator.publish({ kind: 'event', envelope: '{"event":{"type":"datachange"},"instrument":null}' });
  assert.deepEqual(await connector.ended, ['instruments']);
  const { err } = connector.fieldsOf('sourceFailed')[0];
  assert.equal(err.code, 'TOO_MANY_DEAD_LETTERS');
  assert.match(err.message, /22 of 27 recent rows, up to \/v1\/instruments\/events\?since=/);
  assert.equal((await read('dead-letters')).length, 20);
});

test('an event of a type that deletes gives a tombstone, and later events bring the instrument back', async (t) => {
  const scene = await followingScene(t, {}, { deleteOnEventTypes: '[repayment]' });
  const { simulator, kafka, connector, ids, reached } = scene;
  const [repaid = '', returning = '', other = ''] = ids;
  simulator.publish({ kind: 'repayment', id: repaid });
  simulator.publish({ kind: 'repayment', id: returning });
  await reached(simulator.publish({ kind: 'datachange', id: other }).offset);
  await reached(simulator.publish({ kind: 'datachange', id: returning }).offset);
  await connector.stop();
  const log = await universeOnTopics({ kafka, prefix: PREFIX, simulator, first: new Map(), isDue: () => true });
  assert.deepEqual(tombstoneIds(log).toSorted(), [repaid, returning].toSorted());
  assert.equal(log.instruments.findLast(({ key }) => key === repaid)?.content, null);
  assert.equal(log.instruments.findLast(({ key }) => key === returning)?.content, log.universe.get(returning));
  assert.equal(log.events.length, 4);
});

test('a provider that gives fewer events at once than asked for is asked for fewer', async (t) => {
  const { connector, change, reached, violations } = await followingScene(t, { maxMaxEvents: 100 });
  const offset = change(INSTRUMENTS);
  await reached(offset);
  assert.deepEqual(await violations(), []);
  assert.deepEqual(connector.fieldsOf('sourceFailed'), []);
});
