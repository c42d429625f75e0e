import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  committedWalkIntervalMs,
  type InstrumentsOffset,
  NO_COUNTS,
  readInstrumentsOffset,
  writeInstrumentsOffset,
} from '../../../../src/sources/walk/instruments-offset.ts';

const offset: InstrumentsOffset = {
  filter: 'scope=all',
  since: '1-2',
  serverDate: { dateMs: 1_700_000_000_000, from: 'provider', ownMs: 1_700_000_000_500 },
  standingMs: 90_000,
  standingLeastMs: 90_000,
  walk: 3,
  walkStartedAtMs: 1_699_999_000_000,
  walkStartedOwnMs: 1_699_999_000_700,
  walkPending: true,
  walkCursor: '9007199254740993',
  walkResumed: true,
  walkRequest: 'r-1',
  walkAllowShrink: 40,
  walksGivenUp: 1,
  walksWithoutDeletion: 2,
  listLagMs: 61_000,
  topicId: 'lnkGNz9NQ-6Zmn2xWsKx1A',
  counts: { ...NO_COUNTS, pages: 2, rows: 2_000, corrected: 7, reEncoded: 1 },
  gapSuspectedFromMs: 1_699_000_000_000,
  held: { since: '9-9', heldMs: 3_600_000 },
  again: { since: '9-9', fromMs: Date.parse('2026-01-01T03:00:00Z') },
  gapsHealedAtMs: [1_699_999_100_000, 1_699_999_200_000],
};

const read = (raw: Parameters<typeof readInstrumentsOffset>[0]) => readInstrumentsOffset(raw, 'source', 'scope=all');

test('an offset comes back as it was written, through JSON too', () => {
  assert.deepEqual(read(JSON.parse(JSON.stringify(writeInstrumentsOffset(offset)))), offset);
  const plain = { ...offset, walkCursor: null, walkRequest: null, walkAllowShrink: null, gapSuspectedFromMs: null };
  const without = { ...plain, held: null, again: null, gapsHealedAtMs: [] };
  assert.deepEqual(read(JSON.parse(JSON.stringify(writeInstrumentsOffset(without)))), without);
});

test('the written map is flat and of primitives, as the tools of Kafka Connect expect', () => {
  for (const value of Object.values(writeInstrumentsOffset(offset))) {
    assert.ok(value === null || ['string', 'number', 'boolean'].includes(typeof value));
  }
});

test('an offset of version 1 goes on, and its stream is as old as its walk', () => {
  const before = {
    version: 1,
    filter: 'scope=all',
    since: '1-2',
    serverDate: '2026-01-09T00:00:00.000Z',
    serverDateFrom: 'provider',
    walk: 2,
    walkStartedAt: '2026-01-01T00:00:00.000Z',
    walkPending: true,
    walkCursor: '77',
    walkPages: 3,
    walkRows: 3_000,
    walkDeadLetters: 4,
  };
  const read1 = read(before);
  const atWalk = Date.parse('2026-01-01T00:00:00Z');
  assert.deepEqual([read1.serverDate, read1.standingMs], [{ dateMs: atWalk, from: 'provider', ownMs: atWalk }, 0]);
  assert.deepEqual([read1.walk, read1.walkPending, read1.walkCursor], [2, true, '77']);
  assert.deepEqual(read1.counts, { ...NO_COUNTS, pages: 3, rows: 3_000, deadLetters: 4 });
  assert.deepEqual(read1.gapsHealedAtMs, []);
});

test('the interval is committed for the commands, and is unknown in an offset of an earlier version', () => {
  assert.equal(committedWalkIntervalMs(writeInstrumentsOffset(offset, 120_000)), 120_000);
  assert.deepEqual(read(writeInstrumentsOffset(offset, 120_000)), offset);
  assert.equal(committedWalkIntervalMs(writeInstrumentsOffset(offset)), null);
});

for (const [field, value] of Object.entries({
  version: 3,
  filter: 5,
  since: 5,
  serverDate: 'yesterday',
  serverDateFrom: 'sun',
  ownDate: 'soon',
  standingMs: -1,
  standingLeastMs: -1,
  walk: -1,
  walkStartedAt: 7,
  walkPending: 'yes',
  walkCursor: 'x1',
  walkResumed: 'no',
  walkRequest: 1,
  walkAllowShrink: -1,
  walkRows: 1.5,
  walkCorrected: 'many',
  gapSuspectedFrom: 'once',
  gapsHealedAt: 'once upon',
})) {
  test(`an offset with an unusable ${field} is refused by name, not guessed at`, () => {
    assert.throws(() => read({ ...writeInstrumentsOffset(offset), [field]: value }), {
      code: 'OFFSET_UNREADABLE',
      message: new RegExp(field),
    });
  });
}
