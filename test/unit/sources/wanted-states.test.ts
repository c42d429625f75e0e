import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeState, stateRecord } from '../../../src/sources/source-state.ts';
import { createWantedStates } from '../../../src/sources/wanted-states.ts';

function requests() {
  const reported: object[] = [];
  const { walks, targets, take } = createWantedStates(['a', 'b'], (what) => reported.push(what));
  const at = (offset: number, source: string, value: Buffer | null) => ({
    ...stateRecord('t', source, { state: 'running', walk: null, restart: null }),
    value,
    offset: BigInt(offset),
    timestampMs: 0,
  });
  const asked = (source: string, id: string, allowShrink: number | null = null) =>
    stateRecord('t', source, { state: 'running', walk: { id, requestedAt: null, allowShrink }, restart: null }).value;
  return {
    walks,
    targets,
    reported,
    ask: (offset: number, source: string, id: string, allowShrink?: number) =>
      take(at(offset, source, asked(source, id, allowShrink))),
    write: (offset: number, source: string, text: string | null) =>
      take(at(offset, source, text === null ? null : Buffer.from(text))),
    newest: (source: string) => walks.newest(source).request,
  };
}

test('each source has its newest request, with what it may delete', () => {
  const { ask, newest } = requests();
  assert.equal(newest('a'), null);
  ask(0, 'a', 'one');
  ask(1, 'b', 'two', 5);
  ask(2, 'a', 'three');
  assert.deepEqual(newest('a'), { id: 'three', requestedAt: null, allowShrink: null });
  assert.deepEqual(newest('b'), { id: 'two', requestedAt: null, allowShrink: 5 });
});

test('a topic that is read again does not bring an older request back', () => {
  const { ask, newest, walks } = requests();
  ask(0, 'a', 'old');
  ask(1, 'a', 'new');
  const { superseded } = walks.newest('a');
  ask(0, 'a', 'old');
  ask(1, 'a', 'new');
  assert.deepEqual(newest('a'), { id: 'new', requestedAt: null, allowShrink: null });
  assert.equal(superseded.aborted, false);
});

test('a waiting caller is woken by another request for its source, and by nothing else', () => {
  const { ask, write, walks } = requests();
  const { superseded } = walks.newest('a');
  ask(0, 'b', 'one');
  write(1, 'a', '{"state":"running"}');
  assert.equal(superseded.aborted, false);
  ask(2, 'a', 'two');
  assert.equal(superseded.aborted, true);
  const next = walks.newest('a').superseded;
  assert.equal(next.aborted, false);
  write(3, 'a', '{"state":"running","walk":{"id":"two"},"more":1}');
  assert.equal(next.aborted, false);
});

test('what cannot be read is reported, and what was known stays', () => {
  const { ask, write, newest, reported } = requests();
  ask(0, 'a', 'one');
  write(1, 'a', '{"state":"asleep"}');
  assert.deepEqual(newest('a'), { id: 'one', requestedAt: null, allowShrink: null });
  assert.deepEqual(reported, [{ source: 'a', offset: '1' }]);
});

const FAILED_ALONE = '{"state":"running","restart":{"id":"2","onlyFailed":true}}';
const changes: readonly [from: string, to: string, generations: number, isChange: boolean][] = [
  ['{"state":"running"}', '{"state":"paused"}', 0, true],
  ['{"state":"running"}', '{"state":"stopped"}', 1, true],
  ['{"state":"paused"}', '{"state":"running"}', 0, true],
  ['{"state":"stopped"}', '{"state":"running"}', 0, true],
  ['{"state":"running"}', '{"state":"running","restart":{"id":"1"}}', 1, true],
  ['{"state":"running","restart":{"id":"1"}}', '{"state":"running","restart":{"id":"2"}}', 1, true],
  ['{"state":"running","restart":{"id":"1"}}', '{"state":"running","restart":{"id":"1"}}', 0, false],
  ['{"state":"running","restart":{"id":"1"}}', '{"state":"running"}', 0, false],
  ['{"state":"running","restart":{"id":"1"}}', FAILED_ALONE, 0, true],
  ['{"state":"running"}', '{"state":"running","walk":{"id":"1"}}', 0, false],
];
for (const [from, to, generations, isChange] of changes) {
  test(`from ${from} to ${to}: ${generations === 0 ? 'the task is kept' : 'the source starts again'}`, () => {
    const { write, targets } = requests();
    write(0, 'a', from);
    const before = targets.of('a');
    write(1, 'a', to);
    assert.equal(targets.of('a').state, JSON.parse(to).state);
    assert.equal(targets.of('a').restartEpoch - before.restartEpoch, generations);
    assert.equal(targets.of('a').failedRestartEpoch - before.failedRestartEpoch, to === FAILED_ALONE ? 1 : generations);
    assert.equal(before.changed.aborted, isChange);
    assert.equal(targets.of('a').changed.aborted, false);
  });
}

const decode = (text: string | null) => decodeState({ value: text === null ? null : Buffer.from(text) });
const RESTART = { id: 'r-1', requestedAt: '2026-03-01T11:00:00.000Z', onlyFailed: false };
const WALK = { id: 'a-1', requestedAt: '2026-03-01T10:00:00.000Z', allowShrink: 7 };

test('the record of a source is JSON under its name, in fields that never change their place', () => {
  const record = stateRecord('p.states', 'instruments', { state: 'running', walk: WALK, restart: null });
  assert.deepEqual([record.topic, record.partition, String(record.key)], ['p.states', 0, 'instruments']);
  assert.equal(
    String(record.value),
    '{"state":"running","walk":{"id":"a-1","requestedAt":"2026-03-01T10:00:00.000Z","allowShrink":7},"restart":null}',
  );
});

test('what is written is read again as it was', () => {
  for (const state of ['running', 'paused', 'stopped'] as const) {
    for (const walk of [WALK, { ...WALK, allowShrink: null }, null]) {
      for (const restart of [RESTART, { ...RESTART, onlyFailed: true }, null]) {
        const wanted = { state, walk, restart };
        assert.deepEqual(decodeState(stateRecord('t', 's', wanted)), wanted);
      }
    }
  }
});

test('a deleted state, fields that are not known, and fields that are missing are no trouble', () => {
  const running = { state: 'running', walk: null, restart: null };
  assert.deepEqual(decode(null), running);
  assert.deepEqual(decode('{"state":"running"}'), running);
  assert.deepEqual(decode('{"state":"running","walk":null,"since":"later"}'), running);
  assert.deepEqual(decode('{"walk":{"id":"b","why":"x"},"state":"running"}'), {
    ...running,
    walk: { id: 'b', requestedAt: null, allowShrink: null },
  });
});

test('any other value is not guessed at', () => {
  const walks = ['"now"', '[]', '{}', '{"id":7}', `{"id":"${'x'.repeat(101)}"}`];
  const shrinks = ['"all"', '-1', '1.5', '1e300'].map((allowShrink) => `{"id":"a","allowShrink":${allowShrink}}`);
  const restarts = ['true', '{"id":""}'];
  for (const text of [
    ...['', '{"state":"running"', '[]', 'null', '{}', '{"state":"asleep"}'],
    ...[...walks, ...shrinks].map((walk) => `{"state":"running","walk":${walk}}`),
    ...restarts.map((restart) => `{"state":"running","restart":${restart}}`),
  ]) {
    assert.equal(decode(text), null, text);
  }
});
