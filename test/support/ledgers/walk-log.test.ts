import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type InstrumentsOffset, NO_COUNTS } from '../../../src/sources/walk/instruments-offset.ts';
import { type WalkLog, walkViolations } from './walk-log.ts';

const PAGE = 10;
const IDS = Array.from({ length: 40 }, (_, index) => BigInt(100 + index));

/** A right log: `pages` of four pages committed, two partitions. */
function rightLog(pages: number): WalkLog {
  const ids = IDS.slice(0, pages * PAGE);
  const rows = ids.map((id, index) => ({ id, partition: Number(id % 2n), offset: BigInt(index) }));
  const offsets = Array.from({ length: pages + 1 }, (_, page): InstrumentsOffset => {
    const next = IDS[page * PAGE];
    return {
      filter: 'scope=all',
      since: '1-1',
      streamStart: '1-1',
      serverDate: { dateMs: 0, from: 'provider', ownMs: 0 },
      standingMs: 0,
      standingLeastMs: 0,
      walk: 1,
      walkStartedAtMs: 0,
      walkStartedOwnMs: 0,
      walksGivenUp: 0,
      walksWithoutDeletion: 0,
      listLagMs: 0,
      walkLagged: false,
      topicId: null,
      walkPending: page < 4,
      walkCursor: page === 0 || next === undefined ? null : String(next),
      walkResumed: false,
      walkRequest: null,
      walkAllowShrink: null,
      counts: { ...NO_COUNTS, pages: page, rows: page * PAGE, added: page * PAGE },
      gapSuspectedFromMs: null,
      held: null,
      again: null,
      gapsHealedAtMs: [],
    };
  });
  return { rows, offsets };
}

test('a right log has no violations, at every page', () => {
  for (const pages of [0, 1, 2, 3, 4]) assert.deepEqual(walkViolations(rightLog(pages), IDS), []);
});

const damages: Record<string, (log: WalkLog) => WalkLog> = {
  'a dropped record': (log) => ({ ...log, rows: log.rows.filter((_, index) => index !== 7) }),
  'a doubled record': (log) => ({ ...log, rows: [...log.rows, ...log.rows.slice(7, 8)] }),
  'two swapped records': (log) => {
    const rows = [...log.rows];
    [rows[4], rows[6]] = [rows[6] as never, rows[4] as never];
    return { ...log, rows };
  },
  'a record of an aborted transaction': (log) => ({
    ...log,
    rows: [...log.rows, { id: IDS[25] ?? 0n, partition: 1, offset: 99n }],
  }),
  'a record that was never served': (log) => ({ ...log, rows: [...log.rows, { id: 7n, partition: 0, offset: 99n }] }),
  'an offset that ran ahead': (log) => ({ ...log, offsets: [...log.offsets, ...rightLog(3).offsets.slice(3)] }),
  'an offset that was lost': (log) => ({ ...log, offsets: log.offsets.slice(0, -1) }),
  'a page that was skipped': (log) => ({ ...log, offsets: log.offsets.filter((_, index) => index !== 1) }),
};

for (const [what, damage] of Object.entries(damages)) {
  test(`the checker of walks sees ${what}`, () => {
    assert.notDeepEqual(walkViolations(damage(rightLog(2)), IDS), []);
  });
}
