import assert from 'node:assert/strict';
import { test } from 'node:test';
import { walkEvents } from '../../../src/demo/demo-walks.ts';
import type { PageCommitted, WalkCompleted } from '../../../src/observability/connector-events.ts';

test('only the first walk has a line of progress, and the others one line each', () => {
  const seen: string[] = [];
  const events = walkEvents(
    {
      line: { show: () => seen.push('line') },
      progress: { pageCommitted: () => seen.push('page') },
      live: { print: (text) => seen.push(text) },
    },
    ({ walk }) => seen.push(`first ${walk}`),
  );
  const walk = { source: 'instruments', resumed: false, pages: 5, unchanged: 0, reEncoded: 0, deadLetters: 0 };
  const counts = { rows: 5_000, added: 3, corrected: 0, gone: 7, durationMs: 1 };
  for (const number of [1, 2]) {
    events.walkStarted({ source: 'instruments', walk: number, since: '1-1', why: 'due' });
    events.pageCommitted({} as PageCommitted);
    events.walkCompleted({ ...walk, ...counts, walk: number } satisfies WalkCompleted);
  }
  assert.deepEqual(seen, ['line', 'page', 'first 1', '  walk 2         5,000 rows, 3 added, 0 corrected, 7 gone']);
});
