import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { recordDigest } from '../../../../src/records/avro/record-digest.ts';
import { decodeRow } from '../../../support/decoding/avro-decoding.ts';

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
