import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stateRecord } from '../../../src/connector/source-state.ts';
import { createWalkRequests } from '../../../src/connector/walk-requests.ts';

function requests() {
  const told: object[] = [];
  const walks = createWalkRequests({ sources: ['a', 'b'], onUnreadable: (what) => told.push(what) });
  const at = (offset: number, source: string, value: Buffer | null) => ({
    ...stateRecord('t', source, { state: 'running', walk: null }),
    value,
    offset: BigInt(offset),
    timestampMs: 0,
  });
  const asked = (source: string, id: string, allowShrink: number | null = null) =>
    stateRecord('t', source, { state: 'running', walk: { id, requestedAt: null, allowShrink } }).value;
  return {
    walks,
    told,
    ask: (offset: number, source: string, id: string, allowShrink?: number) =>
      walks.take(at(offset, source, asked(source, id, allowShrink))),
    write: (offset: number, source: string, text: string | null) =>
      walks.take(at(offset, source, text === null ? null : Buffer.from(text))),
    newest: (source: string) => walks.newest(source).request,
  };
}

test('each source has its newest request, with what it may delete', () => {
  const { ask, newest } = requests();
  assert.equal(newest('a'), null);
  ask(0, 'a', 'one');
  ask(1, 'b', 'two', 5);
  ask(2, 'a', 'three');
  assert.deepEqual(newest('a'), { id: 'three', allowShrink: null });
  assert.deepEqual(newest('b'), { id: 'two', allowShrink: 5 });
});

test('a topic that is read again does not bring an older request back', () => {
  const { ask, newest, walks } = requests();
  ask(0, 'a', 'old');
  ask(1, 'a', 'new');
  const { superseded } = walks.newest('a');
  ask(0, 'a', 'old');
  ask(1, 'a', 'new');
  assert.deepEqual(newest('a'), { id: 'new', allowShrink: null });
  assert.equal(superseded.aborted, false);
});

test('whoever waits is woken by another request for its source, and by nothing else', () => {
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

test('a deleted state takes the request back', () => {
  const { ask, write, newest } = requests();
  ask(0, 'a', 'one');
  write(1, 'a', null);
  assert.equal(newest('a'), null);
});

test('what cannot be read is told, and what was known stays', () => {
  const { ask, write, newest, told } = requests();
  ask(0, 'a', 'one');
  write(1, 'a', '{"state":"asleep"}');
  assert.deepEqual(newest('a'), { id: 'one', allowShrink: null });
  assert.deepEqual(told, [
    { source: 'a', offset: '1', why: 'asks for another state than running, which alone is known here' },
  ]);
});

test('sources that do not run here are passed over, readable or not', () => {
  const { write, told, walks } = requests();
  write(0, 'elsewhere', 'no JSON');
  assert.deepEqual(told, []);
  assert.throws(() => walks.newest('elsewhere'), /no source elsewhere/);
});
