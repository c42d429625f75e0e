import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chunked, instrumentDecoder } from '../../../support/decoding/avro-decoding.ts';
import { checkDecoder, eventDecoder } from '../../../support/decoding/stream-decoding.ts';

/** Nesting of so many objects or arrays; two more stand around a row. */
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
// One byte for each of these characters: what a provider sends that takes Latin-1 for UTF-8.
const latin1 = (text: string) => Buffer.from(text, 'latin1');

/** A row that cannot be read, around these members. */
function unreadable(members: string) {
  return [
    { what: 'a byte that is not UTF-8', row: latin1(`{"name":"Z\xfcrich",${members}}`), reason: /not UTF-8/ },
    { what: 'a cut sequence', row: latin1(`{"name":"\xe2\x82",${members}}`), reason: /not UTF-8/ },
    { what: 'such a byte in a key', row: latin1(`{${members},"\xfc":null}`), reason: /not UTF-8/ },
    { what: 'a depth of 65', row: Buffer.from(`{${members},"u":${nested(62)}}`), reason: /nesting deeper than 64/ },
    { what: 'a depth of 500', row: Buffer.from(`{"u":${nested(498)},${members}}`), reason: /nesting deeper than 64/ },
    {
      what: '600 KB',
      row: Buffer.from(`{${members},"u":"${'}'.repeat(600_000)}"}`),
      reason: /at most 524288 are read/,
    },
  ];
}

function pageWith(listKey: string, row: Buffer, other: (id: number) => string): Buffer {
  const others = (from: number, count: number) => Array.from({ length: count }, (_, index) => other(from + index));
  return Buffer.concat([
    Buffer.from(`{"${listKey}":[${others(1, 500)},`),
    row,
    Buffer.from(`,${others(502, 499)}],"links":{"next":null}}`),
  ]);
}

const LISTS = [
  {
    listKey: 'instruments',
    decoder: instrumentDecoder,
    members: '"id":501',
    other: (id: number) => `{"id":${id},"name":"Zürich"}`,
  },
  {
    listKey: 'events',
    decoder: eventDecoder,
    members: '"instrument":{"x":{"id":9},"id":501,"name":"a"}',
    other: (id: number) => `{"event":{"type":"t"},"instrument":{"id":${id}}}`,
  },
  {
    listKey: 'preTradeChecks',
    decoder: checkDecoder,
    members: '"preTradeCheckId":"501"',
    other: (id: number) => `{"preTradeCheckId":"${id}"}`,
  },
];

for (const { listKey, decoder, members, other } of LISTS) {
  for (const { what, row, reason } of unreadable(members)) {
    test(`one of a thousand ${listKey} with ${what} is one failure with its key, and the others come`, async () => {
      const good = await decoder().decode(chunked(pageWith(listKey, Buffer.from(other(501)), other), 5_000));
      for (const chunkBytes of [997, 1 << 20]) {
        const body = pageWith(listKey, row, other);
        const { rows, envelope, duplicateKeys } = await decoder().decode(chunked(body, chunkBytes));
        const failure = rows[500];
        assert.ok(failure?.kind === 'failure');
        assert.deepEqual([...rows].toSpliced(500, 1), [...good.rows].toSpliced(500, 1));
        assert.deepEqual([rows.length, duplicateKeys, [...envelope.keys()]], [1_000, 0, ['links']]);
        assert.deepEqual([failure.key, failure.pointer], ['501', '']);
        assert.match(failure.reason, reason);
        // A check has a URL that lets its holder trade.
        assert.ok(failure.raw.equals(listKey === 'preTradeChecks' ? Buffer.alloc(0) : row));
      }
    });
  }
}

const KEYS: readonly [what: string, members: string, key: string | null][] = [
  ['the last of duplicate ids', '"id":1,"id":2', '2'],
  ['the exact spelling before the capitalised one', '"id":1,"Id":2', '1'],
  ['the capitalised one where the exact one is null', '"Id":2,"id":null', '2'],
  ['minus zero as zero', '"id":-0', '0'],
  ['the smallest id', '"id":-9223372036854775808', '-9223372036854775808'],
  ['no id beyond 64 bits', '"id":9223372036854775808', null],
  ['no id with a fraction', '"id":1.0', null],
  ['no id within another member', '"u":{"id":1}', null],
  ['no id of another type', '"id":"1"', null],
];

for (const [what, members, key] of KEYS) {
  test(`the key of an unreadable row: ${what}`, async () => {
    const row = latin1(`{"name":"\xfc",${members}}`);
    const body = pageWith('instruments', row, (id) => `{"id":${id}}`);
    assert.equal((await instrumentDecoder().decode(chunked(body))).rows[500]?.key, key);
  });
}

test('a row of exactly the longest length is read, and one byte more is not', async () => {
  for (const [length, kind] of [
    [512 * 1024, 'record'],
    [512 * 1024 + 1, 'failure'],
  ] as const) {
    const row = `{"id":501,"name":"${'x'.repeat(length - 20)}"}`;
    assert.equal(row.length, length);
    const body = pageWith('instruments', Buffer.from(row), (id) => `{"id":${id}}`);
    assert.equal((await instrumentDecoder().decode(chunked(body, 1 << 16))).rows[500]?.kind, kind);
  }
});
