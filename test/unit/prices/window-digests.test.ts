import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { readWindows, WindowDigests } from '../../../src/prices/read-windows.ts';
import type { DecodedPrice } from '../../../src/records/decoding/priced.ts';

const DAY_MS = 86_400_000;
const windows = (...digests: bigint[]): DecodedPrice[] =>
  digests.map((digest) => ({ key: Buffer.alloc(0), value: Buffer.alloc(0), digest }));
const changed = (digests: WindowDigests, id: string, ...now: bigint[]) =>
  digests.changed(id, windows(...now)).map(({ digest }) => digest);

test('a window that the last answer had as it is is not written again', () => {
  const digests = new WindowDigests();
  assert.deepEqual(changed(digests, '7', 1n, 2n), [1n, 2n]);
  digests.put('7', [1n, 2n]);
  assert.deepEqual(changed(digests, '7', 2n, 3n), [3n]);
  assert.deepEqual(changed(digests, '8', 2n), [2n]);
  digests.put('7', [2n, 3n]);
  assert.deepEqual(changed(digests, '7', 1n), [1n], 'a content that came back is one that changed');
  digests.delete('7');
  assert.deepEqual(changed(digests, '7', 2n), [2n]);
});

const NOW_MS = 100 * DAY_MS;

/** What is read of a topic with these records; a value that is no number is of another schema, or of another program. */
async function digestsOf(records: readonly (readonly [key: string, value: string, ageMs: number])[]) {
  const met: unknown[] = [];
  const digests = await readWindows({
    reader: {
      async readToEnd({ topic, partitions, sinceMs, onRecord }) {
        assert.deepEqual([topic, partitions], ['daily', [4]]);
        assert.equal(sinceMs, NOW_MS - 4 * DAY_MS, 'the topic holds a year: not all of it is read');
        for (const [at, [key, value, ageMs]] of records.entries()) {
          const own = { key: Buffer.from(key), value: Buffer.from(value), offset: BigInt(at) };
          onRecord({ topic, partition: 4, headers: {}, ...own, timestampMs: NOW_MS - ageMs });
        }
      },
    },
    topic: 'daily',
    partition: 4,
    series: 'Close',
    digestOf(value) {
      if (String(value) === 'foreign') throw new ConnectorError('RECORD_UNREADABLE', 'it is no price');
      return /^[0-9]+$/.test(String(value)) ? BigInt(String(value)) : null;
    },
    fromMs: NOW_MS - 3 * DAY_MS,
    onUnreadable: (each) => met.push(each),
    signal: new AbortController().signal,
  });
  return { digests, met };
}

test('after a start, the newest record of each window within the look-back counts', async () => {
  const { digests, met } = await digestsOf([
    ['7/Close/2026-01-02', '12', DAY_MS],
    ['7/Close/2026-01-03', '13', DAY_MS],
    ['7/Close/2026-01-02', '14', 0],
    ['8/Close/2026-01-02', '15', 3 * DAY_MS],
    ['8/Close/2026-01-01', '16', 5 * DAY_MS],
    ['9/Close/2026-01-02', 'of another schema', 0],
    ['9/Close/1970-04-07T23:55:00Z', '17', 0],
    ['9/Close/1970-04-08T00:00:00Z', '18', 0],
    ['9/OHLC/2026-01-02', '19', 0],
    ['9/Hour_1/Close/2026-01-02T00:00:00Z', '20', 0],
  ]);
  assert.deepEqual(met, []);
  assert.deepEqual(changed(digests, '7', 12n, 13n, 14n), [12n]);
  assert.deepEqual(changed(digests, '8', 15n, 16n), [16n], 'what is older is not remembered');
  assert.deepEqual(changed(digests, '9', 1n), [1n]);
  assert.deepEqual(changed(digests, '9', 17n, 18n), [17n], 'nor is a window that is no more asked for');
  assert.deepEqual(changed(digests, '9', 19n, 20n), [19n, 20n], 'nor are windows of other series');
});

test('foreign bytes on the topic of a series are counted, and nothing else is lost by them', async () => {
  const { digests, met } = await digestsOf([
    ['7/Close/1970-04-10', '12', 0],
    ['7/Close/1970-04-10', 'foreign', 0],
    ['7/Close/1970-04-09', '13', 0],
    ['not a key of the connector', 'foreign', 0],
  ]);
  assert.deepEqual(met, [{ records: 2, firstOffset: 1n }]);
  assert.deepEqual(changed(digests, '7', 12n, 13n), [12n], 'the window that was overwritten is written again');
});
