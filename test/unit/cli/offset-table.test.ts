import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offsetTable } from '../../../src/cli/offset-table.ts';
import { loadSettings } from '../../../src/config/load.ts';
import { settingsText } from '../config/settings-text.ts';

const NOW_MS = Date.parse('2026-03-31T12:00:00Z');
const LISTED = { type: 'instruments', configured: true, partition: 21, problem: null };

test('the list of offsets says how far each source is, and when it walks', async () => {
  const settings = await loadSettings({ text: settingsText({}), env: {} });
  const offset = {
    since: '17-0',
    serverDate: '2026-03-31T11:59:00Z',
    ownDate: '2026-03-31T11:59:58Z',
    walk: 3,
    walkStartedOwn: '2026-03-31T10:00:00Z',
    walkPending: false,
  };
  const [header, row, running, inDemo, behind, unread] = offsetTable(
    [
      { ...LISTED, source: 'instruments', offset },
      { ...LISTED, source: 'instruments', offset: { ...offset, walkPending: true } },
      { ...LISTED, source: 'instruments', offset: { ...offset, walkIntervalMs: 7_260_000 } },
      { ...LISTED, source: 'followed', type: 'events', offset: { since: '9-0', serverDate: '2026-03-20T12:00:00Z' } },
      { ...LISTED, source: 'other', type: null, configured: false, offset: null, problem: 'it is not JSON' },
    ],
    settings,
    NOW_MS,
  );
  assert.deepEqual(header, [
    'source',
    'type',
    'since',
    'stream read',
    'unread events kept for',
    'last walk',
    'next walk',
  ]);
  assert.deepEqual(row, ['instruments', 'instruments', '17-0', '2 s ago', '6 d 23 h', '3, begun 2 h ago', 'in 22 h']);
  assert.equal(running?.[5], '3, begun 2 h ago, not ended');
  assert.equal(inDemo?.[6], 'in 1 min', 'by the settings of the process that walks, and not by those of this shell');
  assert.deepEqual(behind, ['followed', 'events', '9-0', '11 d ago', 'lost in part', '', '']);
  assert.deepEqual(unread, ['other', 'the key of another program (not in the settings)', 'it is not JSON']);
});
