import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadLetterRecord, readDeadLetterTail } from '../../../src/kafka/dead-letter.ts';
import { planRounds } from '../../../src/kafka/kafkajs/send-plan.ts';
import { DEFAULT_TUNING } from '../../../src/kafka/kafkajs/tuning.ts';
import type { LogReader } from '../../../src/kafka/log-reader.ts';
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

/** The reading of a topic's newest dead letters, by a reader that does this. */
function tailBy(readToEnd: LogReader['readToEnd']) {
  const [clock, stop] = [new SteppedClock(), new AbortController()];
  const options = { topic: { name: 't', partitions: 1 }, source: 'one', onLetter() {}, clock, signal: stop.signal };
  return { clock, stop, tail: readDeadLetterTail({ ...options, reader: { readToEnd } }) };
}

test('dead letters that cannot be read, or not in time, keep nothing from beginning; a stop ends the reading', async () => {
  await tailBy(() => Promise.reject(new Error('no broker'))).tail;
  let ended = 0;
  const read: LogReader['readToEnd'] = ({ signal }) =>
    untilAborted(new Promise<never>(() => {}), signal).finally(() => void ended++);
  const late = tailBy(read);
  await late.clock.advance(61_000);
  await late.tail;
  assert.equal(ended, 1);
  const stopped = tailBy(read);
  stopped.stop.abort(new Error('the end'));
  await assert.rejects(stopped.tail, /the end/);
});
