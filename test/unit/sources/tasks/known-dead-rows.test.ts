import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLetterRecord } from '../../../../src/kafka/dead-letter.ts';
import type { LogReader } from '../../../../src/kafka/log-reader.ts';
import { KnownDeadRows, readKnownDeadRows } from '../../../../src/sources/tasks/known-dead-rows.ts';
import { skippingClock } from '../../../support/runner/manual-clock.ts';

const row = (key: string | null, text: string) => ({ key, raw: Buffer.from(text) });

test('a row is known by its content and its key, once it was remembered', () => {
  const known = new KnownDeadRows();
  assert.equal(known.isKnown(row('7', 'a')), false);
  known.remember([row('7', 'a'), row(null, 'b')]);
  assert.deepEqual([known.isKnown(row('7', 'a')), known.isKnown(row(null, 'b'))], [true, true]);
  assert.deepEqual([known.isKnown(row('7', 'c')), known.isKnown(row('8', 'a'))], [false, false]);
});

test('of more rows than fit the one that was met longest ago is forgotten', () => {
  const known = new KnownDeadRows();
  known.remember([row('0', 'x'), row('1', 'x')]);
  known.remember([row('0', 'x')]);
  known.remember(Array.from({ length: 65_535 }, (_, at) => row(String(at + 2), 'x')));
  assert.deepEqual([known.isKnown(row('0', 'x')), known.isKnown(row('1', 'x'))], [true, false]);
});

test('an event that is a dead letter is known by the newest request, for the instruments that were met last', () => {
  const known = new KnownDeadRows();
  for (const since of ['7-2', '7-1']) known.addEvent('7', since);
  const after = (since: string) => known.hasEventAfter(since, 7n);
  assert.deepEqual([after('7-1'), after('7-2'), known.hasEventAfter('7-1', 8n)], [true, false, false]);
  for (let id = 0; id < 65_536; id++) known.addEvent(String(100 + id), '8-1');
  assert.deepEqual([after('7-1'), known.hasEventAfter('7-1', 100n)], [false, true]);
});

test('what is on the topic of dead letters already is known after a restart: rows of this source, whole as they were', async () => {
  const topic = { name: 'p.dead-letters', partitions: 2 };
  const letter = (source: string, targetTopic: string, { key, raw }: ReturnType<typeof row>) =>
    deadLetterRecord({
      topic,
      source,
      targetTopic,
      input: { key, raw, pointer: '/id', reason: 'no integer' },
      provenance: { 'spc-source': source },
    });
  const long = 'x'.repeat(300_000);
  const letters = [
    letter('one', 'p.instruments', row('7', 'a')),
    letter('one', 'p.instruments', row(null, long)),
    letter('one', 'p.instrument-events', row('8', 'a')),
    letter('other', 'p.instruments', row('9', 'a')),
  ];
  const reader: LogReader = {
    async readToEnd({ partitions, newest, onRecord }) {
      assert.deepEqual([partitions, newest], [[0, 1], 25_000], 'the topic may hold a month: its end is read');
      for (const [at, { key, value, headers, partition }] of letters.entries()) {
        onRecord({ topic: topic.name, partition, offset: BigInt(at), timestampMs: 0, key, value, headers });
      }
    },
  };
  const known = new KnownDeadRows();
  const { signal } = new AbortController();
  const clock = skippingClock();
  await readKnownDeadRows(known, {
    reader,
    topic,
    source: 'one',
    targetTopic: 'p.instruments',
    eventsTopic: 'p.instrument-events',
    clock,
    signal,
  });
  const isKnown = (key: string | null, text: string) => known.isKnown(row(key, text));
  assert.deepEqual([isKnown('7', 'a'), isKnown(null, long)], [true, true]);
  assert.deepEqual([isKnown('7', 'b'), isKnown('8', 'a'), isKnown('9', 'a')], [false, false, false]);
});
