import assert from 'node:assert/strict';
import { test } from 'node:test';
import { USUAL_SIZES } from '../../../../src/records/decoding/decoded-list.ts';
import type { DecodedPage } from '../../../../src/records/decoding/page-decoder.ts';
import { chunked, instrumentDecoder } from '../../../support/decoding/avro-decoding.ts';

const LONGEST_ROW_BYTES = 512 * 1024;

const decode = (body: string): Promise<DecodedPage> => instrumentDecoder().decode(chunked(body, 64 * 1024));

const inner = 'x,'.repeat(400_000);
const LONG_ROWS: readonly { what: string; row: string; key?: string }[] = [
  { what: 'a string', row: JSON.stringify(`${inner}\\"]}`) },
  { what: 'escapes', row: `{"id":2,"name":"${'\\"\\\\'.repeat(200_000)}"}`, key: '2' },
  { what: 'a number', row: '1'.repeat(600_000) },
  { what: 'digits of a fraction', row: `{"id":2,"issuePrice":0.${'1'.repeat(600_000)}}`, key: '2' },
  { what: 'an array', row: `{"u":[${'[],{},"]",'.repeat(100_000)}1],"Id":2}`, key: '2' },
  {
    what: 'keys',
    row: `{"id":1${Array.from({ length: 60_000 }, (_, index) => `,"k${index}":"}"`).join('')},"id":2}`,
    key: '2',
  },
  { what: 'spaces', row: `{"id" : 2 ,${' '.repeat(600_000)}"name":"x"}`, key: '2' },
  { what: 'a row of several MiB', row: `{"name":"${'é'.repeat(2_000_000)}","id":2}`, key: '2' },
  { what: 'its id', row: `{"id":2${' '.repeat(600_000)},"id":${'2'.repeat(20)}}` },
  { what: 'a text as its id', row: `{"id":"2","name":"${'x'.repeat(600_000)}"}` },
];

for (const { what, row, key: id = null } of LONG_ROWS) {
  test(`a row that is too long because of ${what} is one failure, and the rows around it are read`, async () => {
    const { rows } = await decode(`{"instruments":[{"id":1} ,\n${row} , {"id":3}],"links":{}}`);
    const keys = rows.map(({ key }) => key);
    assert.deepEqual(keys, ['1', id, '3']);
    const [, failure] = rows;
    assert.ok(failure?.kind === 'failure');
    assert.equal(failure.reason, `a row of ${Buffer.byteLength(row)} bytes; at most ${LONGEST_ROW_BYTES} are read`);
    assert.ok(failure.raw.equals(Buffer.from(row)), 'the bytes are those of the row');
  });
}

test('a long row that is cut, a long member outside the list and too many rows are refused', async () => {
  const refused = async (body: string, message: RegExp) =>
    assert.rejects(decode(body), { name: 'ConnectorError', code: 'BODY_MALFORMED', message });
  await refused(`{"instruments":[{"id":1,"name":"${'x'.repeat(700_000)}`, /found the end/);
  await refused(`{"instruments":[{"id":1,"u":[${'1,'.repeat(700_000)}`, /found the end/);
  await refused(`{"instruments":[],"x":"${'x'.repeat(700_000)}"}`, /more than 524288 bytes in a member outside/);
  await refused(`{"instruments":{"a":"${'x'.repeat(700_000)}"}}`, /more than 524288 bytes in a member outside/);
  await refused(`{"instruments":[${'1,'.repeat(100_000)}1]}`, /more than 100000 rows/);
});

test('a body that would grow a hundredfold in memory lets other work run after each of its pieces', async () => {
  const rows = Array.from({ length: 4 }, () => `{"id":1,"underlyings":[${'{},'.repeat(160_000)}{}]}`);
  const body = `{"instruments":[${rows.join(',')},{"id":1,"u":[${'{},'.repeat(1_000_000)}{}]}]}`;
  let [looks, turns] = [0, 0];
  // Each look at this clock is long after the one before.
  const clock = { monotonicMs: () => 1_000 * looks++ };
  const turn = () => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  const { rows: read } = await instrumentDecoder({ clock, maxValueBytes: 1_000_000 }).decode(chunked(body, 1 << 20));
  clearImmediate(next);
  assert.equal(read.length, 5);
  assert.ok(turns >= body.length / USUAL_SIZES.piece, `${turns} turns for ${body.length} bytes`);
});
