import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelTransaction } from './model-log.ts';
import { logViolations, universeViolations } from './model-oracle.ts';
import { runScenario } from './model-world.ts';
import type { Scenario } from './scenario.ts';

// One good run in which everything happens that the oracle looks at: events, rows, a tombstone, a zombie.
const scenario: Scenario = {
  prefetch: true,
  traits: {
    seed: 1,
    instruments: 5,
    limit: 2,
    maxEvents: 3,
    nextIdOf: 'log',
    streamLagMs: 0,
    scanLimit: 0,
    movesOverHidden: true,
    listLagMs: 0,
    listStart: 'newest',
    expired: 410,
    minIdMode: 'next',
    walkIntervalMs: 86_400_000,
  },
  commands: [
    { kind: 'step', times: 60 },
    { kind: 'mutate', what: 'change', id: 1, times: 3 },
    { kind: 'zombie', steps: 5 },
    { kind: 'step', times: 4 },
    { kind: 'mutate', what: 'change', id: 1, times: 3 },
    { kind: 'mutate', what: 'vanish', id: 3, times: 1 },
    { kind: 'step', times: 4 },
  ],
};
const { violations, log, provider } = runScenario(scenario);
const { ledger } = provider;

type Entries = typeof log.entries;

function isCommitted(entry: Entries[number]): entry is ModelTransaction {
  return !('fence' in entry) && entry.state === 'committed';
}

/** The log with one of its transactions changed: the first of which `is` holds. */
function changed(is: (entry: ModelTransaction) => boolean, change: (entry: ModelTransaction) => ModelTransaction[]) {
  const index = log.entries.findIndex((entry) => !('fence' in entry) && is(entry));
  const entry = log.entries[index];
  assert.ok(entry !== undefined && !('fence' in entry), 'the run has no such transaction');
  return { entries: log.entries.toSpliced(index, 1, ...change(entry)) };
}

const withEvents = (count: number) => (entry: ModelTransaction) => isCommitted(entry) && entry.events.length >= count;

function assertFound(changedLog: { readonly entries: Entries }, invariant: string): void {
  const found = logViolations(changedLog, ledger);
  assert.ok(
    found.some((violation) => violation.startsWith(`${invariant} `)),
    `no ${invariant} among: ${found.join('; ')}`,
  );
}

test('a good log has no violation', () => {
  assert.deepEqual(violations, []);
  assert.deepEqual(logViolations(log, ledger), []);
});

test('a dropped event is a loss', () => {
  assertFound(
    changed(withEvents(1), (entry) => [{ ...entry, events: entry.events.slice(1) }]),
    'I1',
  );
});

test('a doubled event is a duplicate', () => {
  assertFound(
    changed(withEvents(1), (entry) => [entry, entry]),
    'I2',
  );
});

test('swapped events are out of order', () => {
  assertFound(
    changed(withEvents(2), (entry) => [{ ...entry, events: entry.events.toReversed() }]),
    'I3',
  );
});

test('a transaction that was aborted and can be seen belongs to an older epoch', () => {
  const isAborted = (entry: ModelTransaction) => entry.state === 'aborted';
  assertFound(
    changed(isAborted, (entry) => [{ ...entry, state: 'committed' }]),
    'I7',
  );
});

test('an offset that runs ahead of its events is a loss, and one that falls back is seen', () => {
  const ahead = (entry: ModelTransaction) => ({ ...entry.offset, since: provider.newest(Number.MAX_SAFE_INTEGER) });
  assertFound(
    changed(withEvents(1), (entry) => [{ ...entry, offset: ahead(entry) }]),
    'I1',
  );
  const first = log.visible()[0]?.offset.since ?? null;
  const last = log.visible().at(-1);
  const fallen = (entry: ModelTransaction) => [{ ...entry, offset: { ...entry.offset, since: first } }];
  assertFound(
    changed((entry) => entry === last, fallen),
    'I4',
  );
});

test('an offset that nobody issued is seen', () => {
  assertFound(
    changed(withEvents(1), (entry) => [{ ...entry, offset: { ...entry.offset, since: '1-1' } }]),
    'I4',
  );
});

test('an older version after a newer one, and a tombstone for a live instrument, are seen', () => {
  const [live] = ledger.ids().filter((id) => ledger.wasLiveThroughout(id, 0, Number.POSITIVE_INFINITY));
  assert.ok(live !== undefined);
  const last = log.visible().at(-1);
  const also = (version: number | null, from: 'page' | 'sweep') => (entry: ModelTransaction) => [
    { ...entry, instruments: [...entry.instruments, { id: live, version, from }] },
  ];
  assertFound(
    changed((entry) => entry === last, also(0, 'page')),
    'I6',
  );
  assertFound(
    changed((entry) => entry === last, also(null, 'sweep')),
    'I9',
  );
});

test('a gap that is given up while the offset is still served is a loss', () => {
  const gap = {
    kind: 'gapProven',
    why: 'refused',
    fromMs: 0,
    to: { dateMs: 0, from: 'provider', ownMs: 0 },
    lostAfter: '',
    goesOnAfter: '',
  } as const;
  assertFound(
    changed(withEvents(1), (entry) => [{ ...entry, notifications: [gap] }]),
    'I1',
  );
});

test('a topic that lacks, keeps or mistakes an instrument differs from the universe', () => {
  const atMs = Number.POSITIVE_INFINITY;
  const topic = log.instruments();
  assert.deepEqual(universeViolations(topic, ledger, atMs), []);
  const [live] = ledger.ids().filter((id) => ledger.isLive(id, atMs));
  const [gone] = ledger.ids().filter((id) => !ledger.isLive(id, atMs));
  assert.ok(live !== undefined && gone !== undefined);
  for (const [id, version] of [[live, null] as const, [gone, 1] as const, [live, 99] as const]) {
    assert.equal(universeViolations(new Map([...topic, [id, version]]), ledger, atMs).length, 1);
  }
});
