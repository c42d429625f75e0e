import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS, drive, event, pending } from './driven-core.ts';

test('a topic with another id than the committed one is filled by a walk at once, which replaces one under way', () => {
  for (const changes of [{}, { ...pending, walkCursor: '7' }]) {
    const source = drive({ topicId: 'before', walk: 3, ...changes }, {}, null, 'now');
    const { begun, notifications, offset } = source.stream([event(5)], '6-1');
    assert.deepEqual([begun, notifications], ['topicReplaced', [{ kind: 'topicReplaced', walk: 4 }]]);
    assert.deepEqual([offset?.topicId, offset?.walkResumed, offset?.since], ['now', false, '6-1']);
    source.handOff();
    source.page(null, [1], null);
    source.stream();
    const { write } = source.commit();
    assert.deepEqual(write.kind === 'rows' && write.rows, [0], 'nothing is on the new topic');
  }
});

test('while the stream refuses our offset, a replaced topic is filled all the same', () => {
  const source = drive({ topicId: 'before' }, {}, null, 'now');
  assert.equal(source.next().kind, 'stream');
  assert.equal(source.refused().begun, 'topicReplaced');
});

test('an offset without an id takes over that of the topic, without a walk and without a word', () => {
  const source = drive({}, {}, null, 'now');
  source.ms = DAY_MS / 2;
  const { begun, notifications, offset } = source.stream([event(5)], '6-1');
  assert.deepEqual([begun, notifications, offset?.topicId], [null, [], 'now']);
});

test('where no broker gives an id, the committed one is kept, and says nothing', () => {
  const source = drive({ topicId: 'before' }, {}, null, null);
  const { begun, offset } = source.stream([event(5)], '6-1');
  assert.deepEqual([begun, offset?.topicId], [null, 'before']);
});
