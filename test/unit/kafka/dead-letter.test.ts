import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLetterRecord, readDeadLetterTail } from '../../../src/kafka/dead-letter.ts';
import { planRounds } from '../../../src/kafka/kafkajs/send-plan.ts';
import { DEFAULT_TUNING } from '../../../src/kafka/kafkajs/tuning.ts';
import { untilAborted } from '../../../src/support/until-aborted.ts';
import { SteppedClock } from './stepped-clock.ts';

const MIB = 1024 * 1024;

test('whatever the input, a dead letter is no larger than every broker takes', () => {
  const letter = deadLetterRecord({
    topic: { name: 'dead-letters', partitions: 1 },
    source: 'prices',
    targetTopic: 'prices',
    input: { key: 'x'.repeat(2 * MIB), pointer: '', reason: 'no id', raw: Buffer.alloc(4 * MIB, 1) },
    provenance: {},
  });
  const [sent] = planRounds({ records: [letter] }, DEFAULT_TUNING).flat();
  assert.ok(sent && sent.bytes < MIB / 2);
  assert.equal(letter.key, null);
  assert.equal(letter.headers['spc-length'], String(4 * MIB));
});

test('a topic of dead letters that takes too long is read no further, and what was to begin begins', async () => {
  const clock = new SteppedClock();
  let ended = false;
  const tail = readDeadLetterTail({
    reader: {
      async readToEnd({ signal }) {
        await untilAborted(new Promise(() => {}), signal).finally(() => {
          ended = true;
        });
      },
    },
    topic: { name: 'p.dead-letters', partitions: 1 },
    source: 'one',
    onLetter() {},
    clock,
    signal: new AbortController().signal,
  });
  await clock.advance(61_000);
  await tail;
  assert.equal(ended, true);
});

test('a topic that cannot be read keeps nothing from beginning, and a stop ends the reading with its reason', async () => {
  const stop = new AbortController();
  const clock = new SteppedClock();
  const options = { topic: { name: 't', partitions: 1 }, source: 'one', onLetter() {}, clock, signal: stop.signal };
  await readDeadLetterTail({ ...options, reader: { readToEnd: () => Promise.reject(new Error('no broker')) } });
  const reading = readDeadLetterTail({
    ...options,
    reader: { readToEnd: ({ signal }) => untilAborted(new Promise<never>(() => {}), signal) },
  });
  stop.abort(new Error('the end'));
  await assert.rejects(reading, /the end/);
});
