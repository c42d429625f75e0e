import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadSettings } from '../../../src/config/load.ts';
import { walkEvents, withFrequentWalks } from '../../../src/demo/demo-walks.ts';
import type { PageCommitted, WalkCompleted } from '../../../src/observability/connector-events.ts';

const ENV = {
  REFERENCE_DATA_URL: 'https://provider.example',
  AUTH_TOKEN_URL: 'https://provider.example/token',
  CLIENT_ID: 'id',
  CLIENT_SECRET: 'some-secret',
  KAFKA_BROKERS: 'localhost:9092',
  SCHEMA_REGISTRY_URL: 'http://localhost:8081',
};

test('the demo walks every two minutes', async () => {
  const settings = withFrequentWalks(await loadSettings({ env: ENV, onSecret: () => {} }));
  const walks = settings.sources.flatMap((source) => (source.type === 'instruments' ? source.walkIntervalMs : []));
  assert.deepEqual(walks, [120_000]);
});

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
  assert.deepEqual(seen, ['line', 'page', 'first 1', '  walk 2         5000 rows, 3 added, 0 corrected, 7 gone']);
});
