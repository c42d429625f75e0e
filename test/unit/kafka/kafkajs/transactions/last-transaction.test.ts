import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_TUNING } from '../../../../../src/kafka/kafkajs/tuning.ts';
import { fail, opened, record, writerOver } from '../../writer-over.ts';

const abortHanging = () => [
  { topic: 'offsets', partition: 3 },
  { topic: 'rows', partition: 0 },
];
const abortHangingOffset = { groupId: 'g', topic: 'in', partition: 0 };
const COMMITTED = ['send offsets added', 'send rows added', 'commit'];
const ABORTED = ['send offsets null | rows null', 'abort'];
/** The steps of the producer's first transaction. */
const firstOf = (steps: readonly string[], producer: number) => {
  const own = steps.filter((step) => step.startsWith(`${producer} `)).map((step) => step.slice(2));
  const begin = own.indexOf('transaction');
  return own.slice(begin + 1);
};
const twoRounds = () => ({ records: [record('rows', 'a')], sourceOffset: record('offsets', 'b', 3) });

for (const [state, expected] of [
  ['CompleteCommit', COMMITTED],
  ['PrepareCommit', COMMITTED],
  ['Ongoing', ABORTED],
  ['PrepareAbort', ABORTED],
  ['CompleteAbort', ABORTED],
  ['Empty', ABORTED],
  ['Dead', ABORTED],
  ['PrepareEpochFence', ABORTED],
  ['of a later broker', ABORTED],
] as const) {
  test(`what hangs of a transaction in ${state} is ${expected === COMMITTED ? 'committed' : 'aborted'}`, async () => {
    const { writer, steps } = writerOver([{ last: state }], { abortHanging });
    await opened(writer);
    const ended = expected.map((step) => `1 ${step}`);
    assert.deepEqual(steps, ['1 connect', `1 last ${state}`, '1 transaction', ...ended]);
  });
}

test('the group is added without an offset where what hangs is committed', async () => {
  const { writer, steps } = writerOver([{ last: 'CompleteCommit' }], { abortHanging, abortHangingOffset });
  await opened(writer);
  assert.deepEqual(steps.slice(3), ['1 offsets of g: 0', '1 send offsets added | rows added', '1 commit']);
});

test('a committed transaction stays one when the fence has succeeded and what hangs of it could not be committed', async () => {
  for (const script of [{ send: fail('Closed connection') }, { commit: fail('Closed connection') }]) {
    const scripts = [{ last: 'CompleteCommit', ...script }, { last: 'Empty' }, { last: 'Empty' }];
    const { writer, clock, steps } = writerOver(scripts, { abortHanging });
    const opening = opened(writer);
    await clock.advance(1_000);
    await opening;
    // One after the other: after a failure without a name, this one names the topic.
    assert.deepEqual(steps.slice(steps.indexOf('2 transaction') + 1, steps.indexOf('2 commit') + 1), [
      '2 send offsets added',
      '2 send rows added',
      '2 commit',
    ]);
    // It is over now.
    await opened(writer);
    assert.deepEqual(firstOf(steps, 3), ABORTED);
  }
});

test('what this writer has cut off is aborted, whatever the coordinator knows', async () => {
  const tuning = { maxRoundBytes: 1 };
  const cut = { send: (call: number) => (call === 3 ? fail('Closed connection')() : Promise.resolve()) };
  const { writer, steps } = writerOver([cut, { last: 'CompleteCommit' }, { last: 'CompleteCommit' }], {
    abortHanging,
    tuning: { ...DEFAULT_TUNING, ...tuning },
  });
  await opened(writer);
  await assert.rejects(writer.commit(twoRounds()), { code: 'TRANSACTION_FAILED' });
  await opened(writer);
  assert.deepEqual(firstOf(steps, 2), ABORTED);
  await opened(writer);
  assert.deepEqual(firstOf(steps, 3), COMMITTED);
});

for (const [what, script] of [
  ['no record was acknowledged', { send: (call: number) => (call === 2 ? fail('no')() : Promise.resolve()) }],
  ['its commit was requested', { commit: fail('Closed connection') }],
  ['another process fenced it', { send: (call: number) => (call === 3 ? fail('fenced', 47)() : Promise.resolve()) }],
] as const) {
  test(`the coordinator alone knows how a transaction ended when ${what}`, async () => {
    const tuning = { ...DEFAULT_TUNING, maxRoundBytes: 1 };
    const { writer, steps } = writerOver([script, { last: 'CompleteCommit' }], { abortHanging, tuning });
    await opened(writer);
    await assert.rejects(writer.commit(twoRounds()));
    await opened(writer);
    assert.deepEqual(firstOf(steps, 2), COMMITTED);
  });
}

for (const [what, more, added] of [
  ['the partition of the position', { abortHanging }, 'send offsets added'],
  ['the group', { abortHanging, abortHangingOffset }, 'offsets of g: 0'],
] as const) {
  test(`${what} is committed also when no partition behind it can be added`, async () => {
    const rows = (call: number) =>
      call === ('abortHangingOffset' in more ? 1 : 2) ? fail('no leader')() : Promise.resolve();
    const { writer, clock, steps } = writerOver([{ last: 'CompleteCommit', send: rows }], more);
    const opening = opened(writer);
    await clock.advance(1_000);
    await opening;
    const first = firstOf(steps, 1);
    assert.equal(first[0], added);
    // So another process, too, finds a committed transaction.
    assert.deepEqual(first.slice(2), ['commit', 'disconnect']);
  });
}

for (const [state, since, first, ending] of [
  ['CompleteAbort', 'CompleteCommit', ['send offsets added', 'send others added', 'commit'], 'abort'],
  ['CompleteCommit', 'CompleteAbort', ['send offsets null | others null', 'abort'], 'commit'],
] as const) {
  test(`what hangs of a transaction in ${state} ends so, also where the writer has left it out since`, async () => {
    const [position, rows] = abortHanging();
    const others = { topic: 'others', partition: 0 };
    const openings = [[rows, others], [others], [others], [rows, others]];
    const scripts = ['Empty', state, since, since, since].map((last) => ({ last }));
    let opening = 0;
    const running = () => [position, ...(openings[opening++] ?? [rows, others])].filter((at) => at !== undefined);
    const { writer, steps } = writerOver(scripts, { abortHanging: running });
    for (const _ of openings) await opened(writer);
    assert.deepEqual(firstOf(steps, 4), [...first, 'transaction', 'send rows added', ending]);
    await opened(writer);
    assert.ok(!firstOf(steps, 5).includes('transaction'), 'then it has ended');
  });
}

for (const ending of ['commit', 'abort'] as const) {
  test(`after a lost connection the next commit first ends again what a ${ending} has ended`, async () => {
    let lost: typeof ending | undefined;
    const { writer, steps } = writerOver([{ cutOffAfter: () => lost }], { abortHanging, abortHangingOffset });
    await opened(writer);
    steps.length = 0;
    await writer.commit({ records: [record('rows', 'a')] });
    assert.deepEqual(steps, ['1 transaction', '1 send rows a', '1 commit']);
    steps.length = 0;
    lost = ending;
    await writer.commit({ records: [record('rows', 'a')] });
    assert.deepEqual(steps, [
      '1 transaction',
      '1 send offsets added | rows added',
      '1 offsets of g: 0',
      `1 ${ending}`,
      '1 transaction',
      '1 send rows a',
      '1 commit',
    ]);
  });
}

test('an offset alone is not added when a connection is lost while it waits', async () => {
  let asked = 0;
  const cutOffAfter = () => (asked++ === 0 ? undefined : ('commit' as const));
  const { writer, steps } = writerOver([{ cutOffAfter }, {}], { abortHanging, abortHangingOffset });
  await opened(writer);
  steps.length = 0;
  const consumerOffset = { ...abortHangingOffset, offset: 7n };
  await assert.rejects(writer.commit({ records: [], consumerOffset }), { code: 'TRANSACTION_FAILED' });
  assert.deepEqual(steps, ['1 transaction']);
  await opened(writer);
  await writer.commit({ records: [record('rows', 'a')], consumerOffset });
});
