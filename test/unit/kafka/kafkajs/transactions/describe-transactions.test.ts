import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeDescribeTransactions,
  encodeDescribeTransactions,
  framedInPlace,
} from '../../../../../src/kafka/kafkajs/requests.ts';

/** What a broker 4.3.1 answered and sent, without length and correlation id; the client was `c`, the correlation id 7. */
const REQUEST = '0000001e004100000000000700016300021062797465732d636f6d6d697474656400';
const COMMITTED =
  '00000000000200001062797465732d636f6d6d69747465640e50726570617265436f6d6d69740000ea60000001a2065eb2f6000000000000' +
  '00000000022a746573742d63623734633633662d383765342d346433332d383437302d6135626632373939313465380200000000000000';
const UNKNOWN = '00000000000200690e62797465732d756e6b6e6f776e0100000000000000000000000000000000000000000000010000';

const decode = (hex: string) => decodeDescribeTransactions(Buffer.from(hex, 'hex'));

test('the request is the one that a broker understands', async () => {
  const request = { apiKey: 65, apiVersion: 0, encode: async () => encodeDescribeTransactions('bytes-committed') };
  const never = () => assert.fail('it is framed in place');
  const { buffer } = await framedInPlace(never)({ correlationId: 7, clientId: 'c', request });
  assert.equal(buffer.toString('hex'), REQUEST);
});

test('an id of 128 bytes and more has a length of two bytes', () => {
  const { buffer, end } = encodeDescribeTransactions('i'.repeat(200));
  const body = buffer.subarray(end - 205, end);
  assert.equal(body.toString('hex'), `0002c901${'69'.repeat(200)}00`);
});

test('the state is read from what a broker has answered', () => {
  assert.deepEqual(decode(COMMITTED), { errorCode: 0, state: 'PrepareCommit' });
  assert.deepEqual(decode(UNKNOWN), { errorCode: 105, state: '' });
});

test('tagged fields in front are passed over', () => {
  assert.deepEqual(decode(`020102abcd0701ff${COMMITTED.slice(2)}`), { errorCode: 0, state: 'PrepareCommit' });
});

test('a response that is cut off, or about no transactional id, is an error', () => {
  for (const bytes of [0, 1, 5, 6, 9, 30, 36]) assert.throws(() => decode(COMMITTED.slice(0, bytes * 2)), RangeError);
  assert.throws(() => decode('000000000001'), RangeError);
});
