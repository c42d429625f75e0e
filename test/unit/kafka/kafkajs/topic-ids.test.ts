import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeTopicIds, encodeTopicIds } from '../../../../src/kafka/kafkajs/topic-ids.ts';

/** What a broker 4.3.1 answered, without length and correlation id: about a topic of three partitions, and one that is missing. */
const TOPIC = 'contract-26a3e1ac-a091-4ebb-895f-917016a79075';
const ANSWER =
  '000000000002000000010a3132372e302e302e3100005c650000177354383868474f346b4e6477654c4e5158756c756267000000010300002e' +
  '636f6e74726163742d32366133653161632d613039312d346562622d383935662d3931373031366137393037358817f84bb80549fc9c9d7e03' +
  '80677a4a0004000000000000000000010000000002000000010200000001010000000000000100000001000000000200000001020000000101' +
  '000000000000020000000100000000020000000102000000010100800000000000030e6e6f2d737563682d746f706963000000000000000000' +
  '00000000000000000180000000008000000000';

test('the id of each topic is read as Kafka shows it, and a missing topic has none', () => {
  assert.deepEqual(decodeTopicIds(Buffer.from(ANSWER, 'hex')), new Map([[TOPIC, 'iBf4S7gFSfycnX4DgGd6Sg']]));
});

test('a broker that gives no ids is believed', () => {
  const id = '8817f84bb80549fc9c9d7e0380677a4a';
  assert.deepEqual(decodeTopicIds(Buffer.from(ANSWER.replace(id, '0'.repeat(32)), 'hex')), new Map());
});

test('an answer that is cut off is an error', () => {
  // Its last 5 bytes are not read.
  for (let bytes = 0; bytes < ANSWER.length / 2 - 5; bytes += 7) {
    assert.throws(() => decodeTopicIds(Buffer.from(ANSWER.slice(0, bytes * 2), 'hex')), RangeError);
  }
});

test('topics are asked for by name, and none is created', () => {
  const { buffer, end } = encodeTopicIds(['ab', 'c']);
  const body = `00${'03'}${'0'.repeat(32)}03616200${'0'.repeat(32)}026300${'000000'}00`;
  assert.equal(buffer.subarray(end - body.length / 2, end).toString('hex'), body);
});
