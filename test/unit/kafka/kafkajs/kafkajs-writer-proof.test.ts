import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULT_TUNING } from '../../../../src/kafka/kafkajs/tuning.ts';
import { untilAborted } from '../../../../src/support/until-aborted.ts';
import { settle } from '../stepped-clock.ts';
import { fail, never, opened, record, writerOver } from '../writer-over.ts';

test('every attempt to open waits for proof from after the last failure, and no older than two seconds', async () => {
  const asked: number[] = [];
  const ownershipProof = async (sinceMonotonicMs: number) => {
    asked.push(sinceMonotonicMs);
  };
  const { writer, clock } = writerOver([{ connect: fail('no') }, { send: fail('no') }], { ownershipProof });
  const opening = opened(writer);
  await clock.advance(5_000);
  await opening;
  await assert.rejects(writer.commit({ records: [record('rows', 'a')] }));
  await opened(writer);
  await clock.advance(60_000);
  await opened(writer);
  assert.deepEqual(asked, [-2_000, 0, 3_000, 5_000, 63_000]);
});

test('a transaction begins, and is committed, only with proof no older than two seconds', async () => {
  const asked: { sinceMs: number; prove: () => void }[] = [];
  const ownershipProof = (sinceMs: number) => new Promise<void>((prove) => void asked.push({ sinceMs, prove }));
  const { writer, clock, steps } = writerOver([], { ownershipProof });
  const prove = async (ask: number) => {
    await settle();
    asked[ask]?.prove();
    await settle();
  };
  const opening = opened(writer);
  await prove(0);
  await opening;
  steps.length = 0;
  await clock.advance(5_000);
  const committing = writer.commit({ records: [record('rows', 'a')] });
  await settle();
  assert.deepEqual(steps, []);
  await prove(1);
  assert.deepEqual(steps, ['1 transaction', '1 send rows a']);
  await prove(2);
  await committing;
  assert.equal(steps.at(-1), '1 commit');
  assert.deepEqual(
    asked.map(({ sinceMs }) => sinceMs),
    [-2_000, 3_000, 3_000],
  );
});

for (const [when, answers, sent] of [
  ['before it begins', 1, []],
  ['before it is committed', 2, ['1 transaction', '1 send rows a']],
] as const) {
  test(`a transaction whose id is lost ${when} is not committed, and its producer not used again`, async () => {
    const lost = new Error('another member reads this partition now');
    let asked = 0;
    const ownershipProof = async () => {
      if (++asked > answers) throw lost;
    };
    const { writer, steps } = writerOver([], { ownershipProof });
    await opened(writer);
    steps.length = 0;
    await assert.rejects(writer.commit({ records: [record('rows', 'a')] }), {
      code: 'TRANSACTION_FAILED',
      cause: lost,
    });
    await settle();
    assert.deepEqual(steps, [...sent, '1 disconnect']);
    await assert.rejects(writer.commit({ records: [record('rows', 'a')] }), { code: 'WRITER_CLOSED' });
  });
}

test('a commit that waits for proof does not hold up the end of its owner; one that has it is finished', async () => {
  const owner = new AbortController();
  const confirmedMs = 0;
  const ownershipProof = async (sinceMs: number, waiting: AbortSignal) => {
    while (confirmedMs <= sinceMs) await untilAborted(never(), waiting);
  };
  const slow = Promise.withResolvers<void>();
  const { writer, clock, steps } = writerOver([{ send: () => slow.promise }], { ownershipProof });
  await writer.open(async () => {}, owner.signal);
  const finished = writer.commit({ records: [record('rows', 'a')] });
  await settle();
  owner.abort(new Error('the owner ends'));
  slow.resolve();
  await finished;
  assert.equal(steps.at(-1), '1 commit');
  await clock.advance(5_000);
  await assert.rejects(writer.commit({ records: [record('rows', 'b')] }), /the owner ends/);
  assert.ok(!steps.includes('1 send rows b'));
});

test('three fencings in five minutes stop the source once; an operator may start it again', async () => {
  const { writer, clock } = writerOver(Array(4).fill({ send: fail('old epoch', 47) }));
  for (let times = 0; times < 3; times++) {
    await opened(writer);
    await assert.rejects(writer.commit({ records: [record('rows', 'a')] }), {
      code: 'WRITER_FENCED',
      action: 'reopenWriter',
    });
    await clock.advance(60_000);
  }
  const refused = opened(writer);
  await assert.rejects(refused, { code: 'WRITER_IDS_SHARED', action: 'stopSource' });
  await opened(writer);
});

test('a fencing counts only when there is proof afterwards that the id is still ours', async () => {
  const gone = new AbortController();
  let isOurs = true;
  const ownershipProof = (_sinceMs: number, waiting: AbortSignal) =>
    isOurs ? Promise.resolve() : untilAborted(never(), AbortSignal.any([waiting, gone.signal]));
  const { writer } = writerOver(Array(4).fill({ send: fail('old epoch', 47) }), { ownershipProof });
  for (let times = 0; times < 3; times++) {
    await opened(writer);
    await assert.rejects(writer.commit({ records: [record('rows', 'a')] }), { code: 'WRITER_FENCED' });
  }
  isOurs = false;
  const opening = writer.open(async () => {}, gone.signal);
  await settle();
  const reason = new Error('another member reads this partition now');
  gone.abort(reason);
  await assert.rejects(opening, reason, 'the third was the rightful owner');
  isOurs = true;
  await assert.rejects(opened(writer), { code: 'WRITER_IDS_SHARED' });
});

test('fencings that are far apart, or of transactions older than their time-out, do not count', async () => {
  const { writer, clock } = writerOver(Array(4).fill({ send: fail('old epoch', 47) }));
  for (let times = 0; times < 4; times++) {
    await opened(writer);
    await assert.rejects(writer.commit({ records: [record('rows', 'a')] }), { code: 'WRITER_FENCED' });
    await clock.advance(150_000);
  }
  const slow = Promise.withResolvers<void>();
  const timedOut = writerOver([{ send: () => slow.promise }], {
    tuning: { ...DEFAULT_TUNING, transactionTimeoutMs: 0 },
  });
  await opened(timedOut.writer);
  const committing = timedOut.writer.commit({ records: [record('rows', 'a')] });
  slow.reject(Object.assign(new Error('old epoch'), { code: 47 }));
  await assert.rejects(committing, { code: 'TRANSACTION_FAILED' });
});
