import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  DEAD_LETTER_HEADER,
  HeldStates,
  isNewerState,
  planRetry,
  type Reread,
} from '../../../src/commands/dead-letter-plan.ts';
import type { CommittedRecord, OutgoingRecord } from '../../../src/kafka/record.ts';
import { seededRandom } from '../../simulation/random.ts';

const INSTRUMENTS = 'p.instruments';
const EVENTS = 'p.instrument-events';
const CHECKS = 'p.pre-trade-checks';
const stateTopics = new Map<string, 'instrument' | 'check'>([
  [INSTRUMENTS, 'instrument'],
  [CHECKS, 'check'],
]);
const START_MS = Date.UTC(2026, 2, 1);
const DAY_MS = 86_400_000;
const RUNS = 400;

type Headers = Readonly<Record<string, string>>;

function letterAt(id: number, timestampMs: number, headers: Headers, topics: readonly string[]): Reread {
  const own = { ...headers, [DEAD_LETTER_HEADER]: String(id) };
  const value = Buffer.from(headers.version ?? '');
  const records = topics.map((topic) => ({ topic, partition: 0, key: Buffer.from('42'), value, headers: own }));
  const letter = { id: String(id), timestampMs, headers, value, source: 's', topic: '', key: '42' };
  return { letter: { ...letter, pointer: '', reason: '' }, now: { kind: 'records', records } };
}

/** One instrument whose every version becomes a record or a dead letter, over some responses of stream and list. */
function history(random: () => number) {
  const log: CommittedRecord[] = [];
  const letters: Reread[] = [];
  let nowMs = START_MS;
  let version = 0;
  let since = 100;
  const add = (record: OutgoingRecord, timestampMs: number) =>
    log.push({ ...record, timestampMs, offset: BigInt(log.length) });
  const below = (n: number) => Math.floor(random() * n);
  for (let responses = 2 + below(5); responses > 0; responses--) {
    nowMs += [20, 1_000, 90_000, 3_600_000][below(4)] ?? 0;
    const isPage = random() < 0.3;
    const provenance = { 'spc-since': `${since}-0`, ...(isPage && { 'spc-walk': '7' }) };
    const isDead = Array.from({ length: isPage ? 1 : 1 + below(3) }, () => random() < 0.5);
    const goodBehind = (index: number) => isDead.slice(index + 1).filter((dead) => !dead).length;
    for (const [index, dead] of isDead.entries()) {
      version += 1;
      // Of one transaction each partition has its own time.
      const timestampMs = nowMs + below(15);
      const headers = { ...provenance, version: String(version) };
      if (dead) {
        const followed = isPage ? {} : { 'spc-followed': String(goodBehind(index)) };
        const topics = isPage ? [INSTRUMENTS] : [EVENTS, INSTRUMENTS];
        letters.push(letterAt(letters.length, timestampMs, { ...headers, ...followed }, topics));
      } else {
        const value = Buffer.from(String(version));
        add({ topic: INSTRUMENTS, partition: 0, key: Buffer.from('42'), value, headers }, timestampMs);
      }
    }
    if (!isPage) since += isDead.length;
  }
  return { log, letters, add, version, nowMs };
}

test('in whichever order and groups dead letters are retried, the newest state of their instrument wins', () => {
  for (let seed = 0; seed < RUNS; seed++) {
    const random = seededRandom(seed);
    const { log, letters, add, version, nowMs } = history(random);
    const order = letters.map((one) => ({ one, at: random() })).toSorted((a, b) => a.at - b.at);
    const groups = [...Map.groupBy(order, ({ at }) => Math.floor(at * 3)).values()];
    for (const [round, group] of groups.entries()) {
      const reread = group.map(({ one }) => one);
      const held = new HeldStates(reread.flatMap(({ now }) => (now.kind === 'records' ? now.records : [])));
      for (const record of log) held.add(record);
      const at = { stateTopics, nowMs: nowMs + 60_000 * round };
      const { outcomes, records } = planRetry(reread, held, at);
      assert.deepEqual(
        outcomes.map(({ id }) => id),
        reread.map(({ letter }) => letter.id),
      );
      for (const record of records) add(record, nowMs + 60_000 * round);
    }
    const states = log.filter(({ topic }) => topic === INSTRUMENTS);
    assert.equal(String(states.at(-1)?.value), String(version), `seed ${seed}`);
    const events = log.filter(({ topic, headers }) => topic === EVENTS && DEAD_LETTER_HEADER in headers);
    const dead = letters.filter(({ now }) => now.kind === 'records' && now.records.length === 2);
    assert.equal(events.length, dead.length, 'every event is written, and once');
  }
});

test('a letter that is retried together with a newer one says why its state is not written', () => {
  const letters = [1, 2].map((id) => {
    const headers = { 'spc-since': `${id}-0`, 'spc-followed': '0' };
    return letterAt(id, START_MS + id, headers, [EVENTS, INSTRUMENTS]);
  });
  const at = { stateTopics, nowMs: START_MS + 10 };
  for (const reread of [letters, letters.toReversed()]) {
    const { outcomes, records } = planRetry(reread, new HeldStates([]), at);
    const [older, newer] = ['1', '2'].map((id) => outcomes.find((outcome) => outcome.id === id));
    assert.deepEqual([older?.outcome, older?.topics, newer?.topics], ['written', [EVENTS], [EVENTS, INSTRUMENTS]]);
    assert.match(older?.says ?? '', /newer dead letter/);
    const written = records.map(({ topic, headers }) => `${topic} ${headers[DEAD_LETTER_HEADER]}`);
    assert.deepEqual(written, [`${EVENTS} 1`, `${EVENTS} 2`, `${INSTRUMENTS} 2`], 'events in their order');
  }
});

test('a letter names the record that it replaces', () => {
  const letter = letterAt(1, START_MS + DAY_MS, { 'spc-since': '2-0', 'spc-followed': '0' }, [EVENTS, INSTRUMENTS]);
  const held = new HeldStates(letter.now.kind === 'records' ? letter.now.records : []);
  const record = { partition: 0, key: Buffer.from('42'), value: null, headers: {}, offset: 5n, timestampMs: START_MS };
  for (const topic of [EVENTS, INSTRUMENTS]) held.add({ ...record, topic });
  const { outcomes } = planRetry([letter], held, { stateTopics, nowMs: START_MS + DAY_MS });
  assert.deepEqual(
    outcomes.map(({ outcome, says }) => [outcome, says]),
    [['written', 'replaces the record of 2026-03-01T00:00:00.000Z']],
  );
});

test('an instrument that may have been deleted since is not brought back by an old letter', () => {
  const plan = (ageMs: number) => {
    const letter = letterAt(1, START_MS, { 'spc-since': '1-0', 'spc-walk': '1' }, [INSTRUMENTS]);
    return planRetry([letter], new HeldStates([]), {
      stateTopics,
      nowMs: START_MS + ageMs,
    });
  };
  assert.equal(plan(6 * DAY_MS).outcomes[0]?.outcome, 'written');
  const [old] = plan(8 * DAY_MS).outcomes;
  assert.deepEqual([old?.outcome, plan(8 * DAY_MS).records], ['superseded', []]);
  assert.match(old?.says ?? '', /may have been deleted/);
});

test('a record of unknown order, as of a letter of an earlier version, is taken for newer', () => {
  const headers = { 'spc-since': '5-0' };
  const letter = { id: '1', timestampMs: START_MS, headers };
  assert.equal(isNewerState({ timestampMs: START_MS - 5, headers }, letter), true);
  assert.equal(isNewerState({ timestampMs: START_MS - 5, headers: { 'spc-since': '4-9' } }, letter), false);
  assert.equal(isNewerState({ timestampMs: START_MS - 5, headers: { 'spc-since': '10-0' } }, letter), true);
  assert.equal(isNewerState({ timestampMs: START_MS - 5, headers: {} }, letter), false);
  assert.equal(isNewerState({ timestampMs: START_MS, headers: {} }, letter), true);
  const reset = { timestampMs: START_MS + DAY_MS, headers: { 'spc-since': '1-0' } };
  assert.equal(isNewerState(reset, letter), true, 'after a reset of the stream offsets begin low again');
});

test('of the letters of a pre-trade check one is written, unless its topic has a newer record of it', () => {
  const letters = [1, 2].map((id) => letterAt(id, START_MS + id, { 'spc-since': 'any' }, [CHECKS]));
  const at = { stateTopics, nowMs: START_MS + 30 * DAY_MS };
  const both = planRetry(letters, new HeldStates([]), at);
  assert.deepEqual(
    both.outcomes.map(({ outcome, says }) => [outcome, says]),
    [
      ['superseded', 'a newer dead letter of this check takes its place'],
      ['written', ''],
    ],
  );
  const held = new HeldStates(letters.flatMap(({ now }) => (now.kind === 'records' ? now.records : [])));
  const record = { topic: CHECKS, partition: 0, key: Buffer.from('42'), value: null, headers: {}, offset: 5n };
  held.add({ ...record, timestampMs: START_MS + DAY_MS });
  const { outcomes, records } = planRetry(letters, held, at);
  assert.deepEqual([...new Set(outcomes.map(({ says }) => says))], ['the topic has a newer state of this check']);
  assert.deepEqual(records, []);
});
