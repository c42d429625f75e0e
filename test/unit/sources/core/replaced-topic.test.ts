import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY_MS, drive, event } from './driven-core.ts';

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
