import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drive, pending, row } from './driven-core.ts';

for (const next of ['10', '9', '-1']) {
  test(`a cursor that does not rise from 10 (${next}) stops the source`, () => {
    const source = drive({ ...pending, walkCursor: '10' });
    source.stream();
    source.handOff();
    assert.throws(() => source.page('10', [10], next), { code: 'WALK_CURSOR_REPEATED', action: 'stopSource' });
  });
}

test('cursors are compared as integers, beyond 2^53 too', () => {
  const source = drive({ ...pending, walkCursor: '9007199254740992' });
  source.stream();
  source.handOff();
  assert.equal(source.page('9007199254740992', [], '9007199254740993').ahead?.minId, '9007199254740993');
});

test('what no row showed is deleted after the list was asked twice behind its end and the stream drained', () => {
  const source = drive(pending);
  source.stream();
  source.handOff([1, 2, 3]);
  source.page(null, [1], null);
  source.stream();
  source.commit();
  source.close(['1', '2']);
  const { write, offset } = source.commit();
  assert.deepEqual(write, { kind: 'tombstones', ids: [2n, 3n] });
  assert.deepEqual([offset?.walkPending, offset?.counts.gone], [false, 2]);
});

for (const [place, left] of [
  ['1', ['1']],
  ['2', ['1', '2']],
] as const) {
  test(`a row behind the end, found from ${place}, deletes nothing and is told`, () => {
    const source = drive(pending);
    source.stream();
    source.handOff([1, 2, 3]);
    source.page(null, [1], null);
    source.stream();
    source.commit();
    for (const minId of left) {
      assert.deepEqual(source.next(), { kind: 'behindLast', minId });
      source.answer({ kind: 'behindLast', rows: minId === place ? [row(2)] : [], next: null });
    }
    source.stream();
    const { write, notifications } = source.commit();
    assert.equal(write.kind, 'nothing');
    assert.deepEqual(
      notifications.map(({ kind }) => kind),
      ['walkCompleted', 'deletionSkipped'],
    );
  });
}

test('an empty list is asked for once more, and the highest id has nothing behind it', () => {
  const source = drive(pending);
  source.stream();
  source.handOff([1]);
  source.page(null, [], null);
  source.stream();
  source.commit();
  assert.deepEqual(source.next(), { kind: 'behindLast', minId: null });

  const highest = drive(pending);
  highest.stream();
  highest.handOff();
  const rows = [{ id: 2n ** 63n - 1n, digest: 1n }];
  assert.equal(highest.next().kind, 'page');
  highest.answer({ kind: 'page', walk: 1, minId: null, rows, next: null, start: null });
  highest.stream();
  highest.commit();
  highest.close(['9223372036854775807']);
  assert.equal(highest.commit().offset?.walkPending, false);
});

test('many tombstones are written in several transactions, the last of which ends the walk', () => {
  const source = drive({ ...pending, walkAllowShrink: 25_000 });
  source.stream();
  source.handOff(Array.from({ length: 25_001 }, (_, index) => index + 1));
  source.page(null, [1], null);
  source.stream();
  source.commit();
  source.close(['1', '2']);
  const counts = [0, 1, 2].map(() => {
    const { write, offset } = source.commit();
    return [write.kind === 'tombstones' && write.ids.length, offset?.walkPending];
  });
  assert.deepEqual(counts, [
    [10_000, true],
    [10_000, true],
    [5_000, false],
  ]);
});

for (const [what, changes] of [
  ['after some of its pages', { walkCursor: '7' }],
  ['after all of its pages', { walkListed: true }],
] as const) {
  test(`a walk that a restart interrupts ${what} deletes nothing, and a fresh one follows at once`, () => {
    const source = drive({ ...pending, ...changes, walkAllowShrink: 3 });
    if (!('walkListed' in changes)) {
      source.stream();
      source.handOff([1, 2, 7]);
      source.page('7', [7], null);
      source.stream();
      source.commit();
      source.close(['7', '8']);
    }
    const end = source.commit();
    assert.equal(end.write.kind, 'nothing');
    assert.equal(end.begun, 'afterResumed');
    const { offset } = end;
    assert.deepEqual([offset?.walk, offset?.walkPending, offset?.walkResumed], [2, true, false]);
    assert.equal(offset?.walkAllowShrink, 3, 'what the operator allowed is still to come');
    assert.equal(source.core.phase, 'census');
  });
}
