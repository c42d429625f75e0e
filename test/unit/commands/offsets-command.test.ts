import assert from 'node:assert/strict';
import { test } from 'node:test';
import { movedOffset, offsetRow, resetText } from '../../../src/commands/offsets-command.ts';
import { loadSettings } from '../../../src/config/load.ts';
import { firstOffset, writeInstrumentsOffset } from '../../../src/sources/walk/instruments-offset.ts';
import { settingsText } from '../config/settings-text.ts';

test('the list counts retention by our own clock, also if the clock of the provider is ahead or the offset stands', () => {
  const wall = Date.parse('2026-03-08T00:00:00Z');
  const offset = { since: '5-0', serverDate: '2026-03-08T01:00:00Z', ownDate: '2026-03-07T00:00:00Z' };
  const listed = { key: 'k', source: 'a', type: 'events', problem: null, partition: 0, configured: true } as const;
  for (const [own, stored, kept] of [
    [offset, '1 d ago', '6 d'],
    [{ ...offset, standingMs: 86_400_000 }, '1 d ago', '5 d'],
    [{ since: '5-0', serverDate: '2026-03-01T12:00:00Z' }, '6 d 12 h ago', '12 h'],
    [{ since: '5-0', serverDate: '2026-02-28T12:00:00Z' }, '7 d 12 h ago', 'perhaps lost in part'],
  ] as const)
    assert.deepEqual(offsetRow({ ...listed, offset: own }, null, wall).slice(2, 5), ['5-0', stored, kept]);
});

test('the list says that the walk after a moved offset is followed by another', () => {
  const listed = { key: 'k', source: 'a', type: 'instruments', problem: null, partition: 0, configured: true } as const;
  const dates = { serverDate: '2026-03-08T00:00:00Z', walkStartedAt: '2026-03-08T00:00:00Z' };
  const offset = { since: '5-0', ...dates, walk: 2, walkPending: true, walkCursor: null };
  const wall = Date.parse('2026-03-08T00:00:00Z');
  const next = (walkResumed: boolean) =>
    offsetRow({ ...listed, offset: { ...offset, walkResumed } }, 86_400_000, wall).at(-1);
  assert.deepEqual([next(true), next(false)], ['after this walk', 'in 1 d']);
});

test('what was suspected of the earlier place, and held beside it, does not go along to the new one', async () => {
  const { sources } = await loadSettings({ text: settingsText({}), env: {} });
  const [source] = sources;
  assert.ok(source);
  const suspected = writeInstrumentsOffset({
    ...firstOffset('scope=all', '5-0', { dateMs: 0, from: 'provider', ownMs: 0 }, null),
    ...{ standingMs: 7_000, standingLeastMs: 6_000, gapSuspectedFromMs: 1_000, held: { since: '6-0', heldMs: 1_000 } },
  });
  const moved = movedOffset({ wallMs: () => 0 }, source, suspected, { since: '4-0', received: null });
  const { since, standingMs, standingLeastMs, gapSuspectedFrom, heldSince, heldMs } = moved;
  assert.deepEqual(
    { since, standingMs, standingLeastMs, gapSuspectedFrom, heldSince, heldMs },
    { since: '4-0', standingMs: 0, standingLeastMs: 0, gapSuspectedFrom: null, heldSince: null, heldMs: null },
  );
});

test('the walk after a moved offset begins now by both clocks', async () => {
  const { sources } = await loadSettings({ text: settingsText({}), env: {} });
  const [source] = sources;
  assert.ok(source);
  const ahead = { dateMs: 3_600_000, from: 'provider', ownMs: 0 } as const;
  const committed = writeInstrumentsOffset(firstOffset('scope=all', '5-0', ahead, null));
  const { walkStartedAt, walkStartedOwn } = movedOffset({ wallMs: () => 60_000 }, source, committed, {
    since: '4-0',
    received: null,
  });
  assert.deepEqual([walkStartedAt, walkStartedOwn], ['1970-01-01T01:01:00.000Z', '1970-01-01T00:01:00.000Z']);
});

test('a reset tells how a source of each type continues, and only instruments have a walk', () => {
  for (const [type, continues] of [
    ['instruments', /stream continues from now, and a walk updates every instrument\. Events .* are lost/],
    ['events', /the source continues with the events from now on\. Events that were not read yet are lost/i],
    ['pre-trade-checks', /the source reads every pre-trade check that the provider still has/i],
  ] as const) {
    for (const done of [false, true]) {
      const text = resetText({ name: 'a', type }, done);
      assert.match(text, continues);
      assert.equal(/walk/.test(text), type === 'instruments', text);
    }
  }
});
