import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordDigest } from '../../../src/avro/record-digest.ts';
import { ConnectorError } from '../../../src/errors.ts';
import { decodeRow } from '../../support/avro-decoding.ts';

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

test('the digest is the same in every release, since it is compared with older ones', () => {
  // The first eight bytes of the SHA-256 of "abc".
  assert.equal(recordDigest(Buffer.from('\0\0\0\0\x07abc', 'latin1')), 0xba7816bf8f01cfean);
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
