import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventRecords } from '../../../../src/connector/tasks/instrument-records.ts';
import type { DecodedEvent } from '../../../../src/decoding/event-decoder.ts';

const topic = (name: string) => ({ name, partitions: 6 });
const targets = {
  source: 's',
  instruments: topic('instruments'),
  instrumentEvents: topic('instrument-events'),
  deadLetters: topic('dead-letters'),
  notifications: topic('notifications'),
};

const good = (key: string) =>
  ({ kind: 'event', key, eventValue: Buffer.from('e'), instrumentValue: Buffer.from('i') }) as DecodedEvent;
const dead = (key: string | null) =>
  ({ kind: 'failure', key, pointer: '/', reason: 'bad', raw: Buffer.from('{}') }) as DecodedEvent;

test('a dead letter of an event reports how many events of its instrument came behind it in the same response', () => {
  const events = [dead('1'), good('2'), dead('1'), good('1'), dead('2'), dead(null), dead('1'), good('1'), good('3')];
  const records = eventRecords(events, targets, { 'spc-since': '5-0' }, () => false);
  const letters = records.filter((record) => record.topic === 'dead-letters');
  assert.deepEqual(
    letters.map(({ key, headers }) => [key && String(key), headers['spc-followed']]),
    [
      ['1', '2'],
      ['1', '2'],
      ['2', '0'],
      [null, '0'],
      ['1', '1'],
    ],
  );
});
