import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeState, stateRecord } from '../../../src/sources/source-state.ts';

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
