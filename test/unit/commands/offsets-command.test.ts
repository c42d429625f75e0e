import assert from 'node:assert/strict';
import { test } from 'node:test';
import { movedOffset } from '../../../src/commands/offsets-command.ts';
import { loadSettings } from '../../../src/config/load.ts';
import { firstOffset, writeInstrumentsOffset } from '../../../src/sources/walk/instruments-offset.ts';
import { settingsText } from '../config/settings-text.ts';

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
