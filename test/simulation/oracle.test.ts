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

test('a good log has no violation', () => {
  assert.deepEqual(violations, []);
  assert.deepEqual(logViolations(log, ledger), []);
});

const isAborted = (entry: ModelTransaction) => entry.state === 'aborted';
const isLast = (entry: ModelTransaction) => entry === log.visible().at(-1);
const live = ledger.ids().find((id) => ledger.wasLiveThroughout(id, 0, Number.POSITIVE_INFINITY)) ?? assert.fail();
const gap = {
  kind: 'gapProven',
  why: 'refused',
  fromMs: 0,
  to: { dateMs: 0, from: 'provider', ownMs: 0 },
  lostAfter: '',
  goesOnAfter: '',
} as const;
const withOffset = (since: string | number | boolean | null) => (entry: ModelTransaction) => [
  { ...entry, offset: { ...entry.offset, since } },
];
const withRecord = (version: number | null, from: 'page' | 'sweep') => (entry: ModelTransaction) => [
  { ...entry, instruments: [...entry.instruments, { id: live, version, from }] },
];

for (const [what, invariant, is, change] of [
  ['a dropped event', 'I1', withEvents(1), (entry) => [{ ...entry, events: entry.events.slice(1) }]],
  ['a doubled event', 'I2', withEvents(1), (entry) => [entry, entry]],
  ['swapped events', 'I3', withEvents(2), (entry) => [{ ...entry, events: entry.events.toReversed() }]],
  ['a transaction of an older epoch', 'I7', isAborted, (entry) => [{ ...entry, state: 'committed' }]],
  ['an offset ahead of its events', 'I1', withEvents(1), withOffset(provider.newest(Number.MAX_SAFE_INTEGER))],
  ['an offset that falls back', 'I4', isLast, withOffset(log.visible()[0]?.offset.since ?? null)],
  ['an offset that nobody issued', 'I4', withEvents(1), withOffset('1-1')],
  ['an older version after a newer one', 'I6', isLast, withRecord(0, 'page')],
  ['a tombstone for a live instrument', 'I9', isLast, withRecord(null, 'sweep')],
  ['a gap while the offset is served', 'I1', withEvents(1), (entry) => [{ ...entry, notifications: [gap] }]],
] as const satisfies readonly (readonly [string, string, ...Parameters<typeof changed>])[]) {
  test(`the oracle finds ${what}`, () => {
    const found = logViolations(changed(is, change), ledger);
    assert.ok(
      found.some((violation) => violation.startsWith(`${invariant} `)),
      `no ${invariant} among: ${found.join('; ')}`,
    );
  });
}

test('a topic that lacks, keeps or mistakes an instrument differs from the universe', () => {
  const atMs = Number.POSITIVE_INFINITY;
  const topic = log.instruments();
  assert.deepEqual(universeViolations(topic, ledger, atMs), []);
  const [gone] = ledger.ids().filter((id) => !ledger.isLive(id, atMs));
  assert.ok(gone !== undefined);
  for (const [id, version] of [[live, null] as const, [gone, 1] as const, [live, 99] as const]) {
    assert.equal(universeViolations(new Map([...topic, [id, version]]), ledger, atMs).length, 1);
  }
});
