import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DecodedState, decodeState, stateRecord } from '../../../src/sources/source-state.ts';

const decode = (text: string | null): DecodedState => decodeState({ value: text === null ? null : Buffer.from(text) });
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
        assert.deepEqual(decodeState(stateRecord('t', 's', wanted)), { kind: 'state', state: wanted });
      }
    }
  }
});

test('a deleted state, fields that are not known, and fields that are missing are no trouble', () => {
  const running = { kind: 'state', state: { state: 'running', walk: null, restart: null } };
  assert.deepEqual(decode(null), running);
  assert.deepEqual(decode('{"state":"running"}'), running);
  assert.deepEqual(decode('{"state":"running","walk":null,"since":"later"}'), running);
  assert.deepEqual(decode('{"walk":{"id":"b","why":"x"},"state":"running"}'), {
    kind: 'state',
    state: { state: 'running', walk: { id: 'b', requestedAt: null, allowShrink: null }, restart: null },
  });
});

const unreadable: readonly [text: string, why: RegExp][] = [
  ['', /is no JSON object/],
  ['{"state":"running"', /is no JSON object/],
  ['[]', /is no JSON object/],
  ['null', /is no JSON object/],
  ['{}', /another state than running/],
  ['{"state":"asleep"}', /another state than running/],
  ['{"state":"running","walk":"now"}', /a walk that is no object/],
  ['{"state":"running","walk":[]}', /a walk that is no object/],
  ['{"state":"running","walk":{}}', /a walk without a usable id/],
  ['{"state":"running","walk":{"id":7}}', /a walk without a usable id/],
  ['{"state":"running","restart":true}', /a restart that is no object/],
  ['{"state":"running","restart":{"id":""}}', /a restart without a usable id/],
  [`{"state":"running","walk":{"id":"${'x'.repeat(101)}"}}`, /a walk without a usable id/],
  ['{"state":"running","walk":{"id":"a","allowShrink":"all"}}', /allowShrink is neither/],
  ['{"state":"running","walk":{"id":"a","allowShrink":-1}}', /allowShrink is neither/],
  ['{"state":"running","walk":{"id":"a","allowShrink":1.5}}', /allowShrink is neither/],
  ['{"state":"running","walk":{"id":"a","allowShrink":1e300}}', /allowShrink is neither/],
];
for (const [text, why] of unreadable) {
  test(`not guessed at, and not quoted: ${text.slice(0, 60)}`, () => {
    const decoded = decode(text);
    assert.equal(decoded.kind, 'unreadable');
    assert.match(decoded.kind === 'unreadable' ? decoded.why : '', why);
  });
}
