import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
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
    assert.rejects(decode(body), (error) => {
      assert.ok(error instanceof ConnectorError && error.code === 'BODY_MALFORMED', String(error));
      assert.match(error.message, message);
      return true;
    });
  await refused(`{"instruments":[{"id":1,"name":"${'x'.repeat(700_000)}`, /found the end/);
  await refused(`{"instruments":[{"id":1,"u":[${'1,'.repeat(700_000)}`, /found the end/);
  await refused(`{"instruments":[],"x":"${'x'.repeat(700_000)}"}`, /more than 524288 bytes in a member outside/);
  await refused(`{"instruments":{"a":"${'x'.repeat(700_000)}"}}`, /more than 524288 bytes in a member outside/);
  await refused(`{"instruments":[${'1,'.repeat(100_000)}1]}`, /more than 100000 rows/);
});

test('a body that would grow a hundredfold in memory does not hold up other work for long', async () => {
  const rows = Array.from({ length: 40 }, () => `{"id":1,"underlyings":[${'{},'.repeat(160_000)}{}]}`);
  const body = Buffer.from(`{"instruments":[${rows.join(',')},{"id":1,"u":[${'{},'.repeat(10_000_000)}{}]}]}`);
  const decoder = instrumentDecoder({ maxValueBytes: 1_000_000 });
  const longestTurnMs = async (page: string | Buffer, rowsDue: number) => {
    const turns = watchTurns();
    const { rows: read } = await decoder.decode(chunked(page, 1 << 20));
    const longestMs = turns.end();
    assert.equal(read.length, rowsDue);
    return longestMs;
  };
  // How quick this machine is: no turn can be shorter than one of these rows.
  const ofOneRowMs = Math.max(
    await longestTurnMs(`{"instruments":[${rows[0]}]}`, 1),
    await longestTurnMs(`{"instruments":[${rows[0]}]}`, 1),
  );
  const ofAllMs = await longestTurnMs(body, 41);
  assert.ok(ofAllMs < 5 * ofOneRowMs, `a turn took ${ofAllMs} ms of its core, and one row ${ofOneRowMs} ms`);
});

/** The longest turn of the event loop, in CPU time of this thread: other work on the machine does not count. */
function watchTurns(): { end(): number } {
  const usedMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let longestMs = 0;
  let lastMs = usedMs();
  const turn = () => {
    const nowMs = usedMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  return {
    end() {
      clearImmediate(next);
      return Math.max(longestMs, usedMs() - lastMs);
    },
  };
}
