import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { recordDigest } from '../../../src/avro/record-digest.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { decodeRow } from '../../support/decoding/avro-decoding.ts';

async function digestOf(row: string, schemaId = 7): Promise<bigint> {
  const decoded = await decodeRow(row, { schemaId });
  assert.ok(decoded.kind === 'record');
  return recordDigest(decoded.value);
}

test('the digest is that of the content: the same for other spellings and schema ids, another for any change', async () => {
  const first = await digestOf('{"id":1,"issuePrice":1.0,"new":1}');
  assert.equal(await digestOf('{ "New":null,"new":1,"IssuePrice":1e0, "Id":1}'), first);
  assert.equal(await digestOf('{"id":1,"issuePrice":1.0,"new":1}', 123_456), first);
  const others = [
    '{"id":2,"issuePrice":1.0,"new":1}',
    '{"id":1,"issuePrice":1.1,"new":1}',
    '{"id":1,"issuePrice":1.0}',
  ];
  const digests = await Promise.all(others.map((row) => digestOf(row)));
  assert.equal(new Set([first, ...digests]).size, 4);
});

const withHeader = (body: Uint8Array) => Buffer.concat([Buffer.from([0, 0, 0, 0, 7]), body]);

test('a change of any bit, and a byte more or less, gives another digest, wherever the bytes lie', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 70 }), fc.nat(), fc.nat(7), (body, position, shift) => {
      const digest = recordDigest(withHeader(body));
      const moved = Buffer.concat([Buffer.alloc(shift), withHeader(body)]).subarray(shift);
      assert.equal(recordDigest(moved), digest);
      const changed = Uint8Array.from(body);
      changed[position % body.length] = (body[position % body.length] ?? 0) ^ (1 << (position & 7));
      assert.notEqual(recordDigest(withHeader(changed)), digest);
      assert.notEqual(recordDigest(withHeader(body.subarray(1))), digest);
      assert.notEqual(recordDigest(withHeader(Uint8Array.from([...body, 0]))), digest);
    }),
    { numRuns: 2_000 },
  );
});

test('contents that differ in two words, or by a swap of words, have other digests', () => {
  const body = Buffer.alloc(64);
  const digests = new Set<bigint>();
  let contents = 0;
  for (let first = 0; first < 16; first++) {
    for (let second = 0; second < 16; second++) {
      for (const value of [1, 256, -1, 0x40000000]) {
        body.fill(0);
        body.writeInt32LE(value, first * 4);
        if (second !== first) body.writeInt32LE(7, second * 4);
        digests.add(recordDigest(withHeader(body)));
        contents += 1;
      }
    }
  }
  assert.equal(digests.size, contents);
});

test('one changed bit moves about half of the 64 bits', () => {
  const body = Buffer.from('structured products, each with a few kilobytes of content'.repeat(3));
  const digest = recordDigest(withHeader(body));
  let moved = 0;
  for (let at = 0; at < body.length; at++) {
    const changed = Buffer.from(body);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    moved += [...(recordDigest(withHeader(changed)) ^ digest).toString(2)].filter((bit) => bit === '1').length;
  }
  const average = moved / body.length;
  assert.ok(average > 28 && average < 36, `${average} bits on average`);
});

test('digests use all of their 64 bits', () => {
  const digests = Array.from({ length: 50_000 }, (_, id) => recordDigest(Buffer.from(`\0\0\0\0\0${id}`, 'latin1')));
  assert.equal(new Set(digests).size, digests.length);
  const ones = Array.from({ length: 64 }, (_, bit) => digests.filter((digest) => (digest >> BigInt(bit)) & 1n).length);
  for (const [bit, count] of ones.entries()) assert.ok(Math.abs(count - 25_000) < 1_000, `bit ${bit}: ${count}`);
});

test('a value without the header of the wire format has no digest', () => {
  for (const value of [Buffer.alloc(0), Buffer.from('{"id":1}')]) {
    assert.throws(
      () => recordDigest(value),
      (error) => error instanceof ConnectorError && error.code === 'RECORD_UNREADABLE',
    );
  }
});
