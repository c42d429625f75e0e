import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DecodedEvent } from '../../../../src/records/decoding/event-decoder.ts';
import { eventRecords, rowRecords, tombstones } from '../../../../src/sources/tasks/instrument-records.ts';

const topic = (name: string) => ({ name, partitions: 6 });
const targets = {
  source: 's',
  instruments: topic('instruments'),
  instrumentEvents: topic('instrument-events'),
  deadLetters: topic('dead-letters'),
  notifications: topic('notifications'),
};

const good = (key: string, type: string | null = null) =>
  ({ kind: 'event', key, type, eventValue: Buffer.from('e'), instrumentValue: Buffer.from('i') }) as DecodedEvent;
const dead = (key: string | null) =>
  ({ kind: 'failure', key, pointer: '/', reason: 'bad', raw: Buffer.from('{}') }) as DecodedEvent;

test('the headers of a record are those of its response, and where an event is the reason, its type', () => {
  const common = {
    'spc-source': 's',
    'spc-since': '5-0',
    'spc-endpoint': '/e',
    'spc-received': '2026-03-01T10:00:00.000Z',
  };
  const typed = { ...common, 'spc-event-type': 'autocalled' };
  const events = [good('1', 'autocalled'), good('2'), good('3', 'x'.repeat(101)), good('4', 'autocalled'), dead('5')];
  const records = eventRecords(events, targets, common, ({ key }) => key === '4');
  assert.deepEqual(
    records.slice(0, 8).map(({ topic, value, headers }) => [topic, value && String(value), headers]),
    [
      ['instrument-events', 'e', typed],
      ['instruments', 'i', typed],
      ['instrument-events', 'e', common],
      ['instruments', 'i', common],
      // A type that is no code word could fill the record.
      ['instrument-events', 'e', common],
      ['instruments', 'i', common],
      ['instrument-events', 'e', typed],
      ['instruments', null, typed],
    ],
  );
  // One object for all of a type: it is encoded once.
  assert.equal(records[0]?.headers, records[6]?.headers);
  assert.ok(!('spc-event-type' in (records[8]?.headers ?? {})));
});

test('what a walk writes names no event', () => {
  const common = { 'spc-source': 's', 'spc-walk': '7', 'spc-since': '5-0' };
  const row = { kind: 'record', key: '1', value: Buffer.from('i') } as never;
  for (const { headers } of [...rowRecords([row], targets, common), ...tombstones([2n], targets, common)]) {
    assert.deepEqual(headers, common);
  }
});
