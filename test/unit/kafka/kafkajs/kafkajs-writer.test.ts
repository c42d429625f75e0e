import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KafkajsWriter } from '../../../../src/kafka/kafkajs/kafkajs-writer.ts';
import { DEFAULT_TUNING } from '../../../../src/kafka/kafkajs/tuning.ts';
import { untilAborted } from '../../../../src/support/until-aborted.ts';
import { settle } from '../stepped-clock.ts';
import { fail, never, opened, record, writerOver } from '../writer-over.ts';

const { signal } = new AbortController();
/** So large that it has a round of its own. */
const large = (value: string) => ({ ...record('rows', value), key: Buffer.alloc(DEFAULT_TUNING.maxSendBytes) });

test('opening fences with a new producer and only then reads the position', async () => {
  const { writer, steps, configs } = writerOver([]);
  const position = await writer.open(async () => {
    steps.push('position read');
    return 7;
  }, signal);
  assert.equal(position, 7);
  assert.deepEqual(steps, ['1 connect', '1 transaction', '1 abort', 'position read']);
  const { createPartitioner: _createPartitioner, ...settings } = configs[0] as Record<string, unknown>;
  assert.deepEqual(settings, {
    transactionalId: 'id',
    maxInFlightRequests: 1,
    transactionTimeout: 60_000,
    retry: { retries: 5, initialRetryTime: 50, maxRetryTime: 2_000 },
    allowAutoTopicCreation: false,
  });
});

test('a commit sends to all partitions at once, the source offset at the end, and commits once', async () => {
  const { writer, steps } = writerOver([]);
  await opened(writer);
  steps.length = 0;
  await writer.commit({
    records: [record('offsets', 'early', 3), record('rows', 'a', 0), record('rows', 'b', 1), record('rows', 'c', 0)],
    sourceOffset: record('offsets', 'late', 3),
  });
  assert.deepEqual(steps, ['1 transaction', '1 send rows a,c | rows b | offsets early,late', '1 commit']);
});

test('a request without an answer ends the commit at once, and a late answer does not let it go on', async () => {
  const late = Promise.withResolvers<void>();
  const { writer, steps, timeOutRequests } = writerOver([{ send: () => late.promise }]);
  await opened(writer);
  const committing = writer.commit({ records: [large('a'), large('b')] });
  await settle();
  timeOutRequests();
  await assert.rejects(committing, /no response within 10000 ms/);
  late.resolve();
  await settle();
  assert.deepEqual(steps.slice(4), ['1 send rows a', '1 disconnect']);
});

test('a commit that hangs is given up at the transaction time-out, and its late answer commits nothing', async () => {
  const late = Promise.withResolvers<void>();
  const { writer, clock, steps } = writerOver([{ send: () => late.promise }]);
  await opened(writer);
  const committing = assert.rejects(writer.commit({ records: [record('rows', 'a')] }), { code: 'TRANSACTION_FAILED' });
  await clock.advance(DEFAULT_TUNING.transactionTimeoutMs);
  await committing;
  late.resolve();
  await settle();
  assert.ok(!steps.includes('1 commit'));
  assert.equal(clock.sleeping, 0);
});

test('opening fails when it has not succeeded 20 seconds after the transaction time-out, hanging or refused', async () => {
  for (const connect of [never, fail('ECONNREFUSED')]) {
    const { writer, clock } = writerOver(Array(100).fill({ connect }));
    const opening = assert.rejects(opened(writer), { code: 'KAFKA_UNREACHABLE' });
    await clock.advance(76_000);
    assert.equal(await Promise.race([opening, settle().then(() => 'still trying')]), 'still trying');
    await clock.advance(4_000);
    await opening;
    assert.equal(clock.sleeping, 0);
  }
});

test('opening during a commit makes that commit fail, and it sends nothing more', async () => {
  const late = Promise.withResolvers<void>();
  const { writer, steps } = writerOver([{ send: () => late.promise }]);
  await opened(writer);
  const committing = writer.commit({ records: [large('a'), large('b')] });
  await settle();
  await opened(writer);
  late.resolve();
  await assert.rejects(committing, { code: 'TRANSACTION_FAILED' });
  const done = steps.filter((step) => step.startsWith('1 send') || step === '1 commit');
  assert.deepEqual(done, ['1 send rows a']);
  await writer.commit({ records: [record('rows', 'a')] });
  assert.ok(steps.includes('2 commit'));
});

test('the client closes the writers that are open, opened again included; closed ones are forgotten', async () => {
  const all = new Set<KafkajsWriter>();
  const writerOfClient = () => writerOver([], { opened: all }).writer;
  writerOfClient();
  const [open, gone, again] = [writerOfClient(), writerOfClient(), writerOfClient()];
  for (const writer of [open, gone, again]) await opened(writer);
  for (const writer of [gone, again]) await writer.close();
  await opened(again);
  assert.deepEqual([...all], [open, again]);
});

test('a writer that is closed in the middle of an opening waits for the end of its fence, for a while', async () => {
  for (const ends of [true, false]) {
    const fenced = Promise.withResolvers<void>();
    const abortHanging = () => [{ topic: 'rows', partition: 0 }];
    const { writer, clock, steps } = writerOver([{ send: () => fenced.promise }], { abortHanging });
    const opening = opened(writer);
    opening.catch(() => {});
    await settle();
    const closing = writer.close().then(() => void steps.push('closed'));
    await settle();
    assert.equal(steps.includes('closed'), false, 'a fence that arrived later would fence the heir');
    if (ends) fenced.resolve();
    else await clock.advance(DEFAULT_TUNING.disconnectMs);
    await closing;
    await assert.rejects(opening, { code: 'WRITER_CLOSED' });
  }
});

test('a topic that takes no records when a writer opens is named at once, by the error or by its own request', async () => {
  const abortHanging = () => ['offsets', 'rows'].map((topic) => ({ topic, partition: 0 }));
  const refusing = Object.assign(new Error('no leader'), { topic: 'rows' });
  const named = writerOver([{ send: () => Promise.reject(refusing) }], { abortHanging });
  const expected = { code: 'KAFKA_UNREACHABLE', fields: { transactionalId: 'id', topics: ['rows'] } };
  await assert.rejects(opened(named.writer), expected);
  const second = (call: number) => (call === 2 ? fail('Closed connection')() : Promise.resolve());
  const unnamed = writerOver([{ send: fail('Closed connection') }, { send: second }], { abortHanging });
  const opening = assert.rejects(opened(unnamed.writer), expected);
  await unnamed.clock.advance(1_000);
  await opening;
});

test('a writer that is fenced while it opens opens again: that says nothing of the topic that it was writing to', async () => {
  const abortHanging = () => ['offsets', 'rows'].map((topic) => ({ topic, partition: 0 }));
  const fenced = Object.assign(new Error('INVALID_PRODUCER_EPOCH'), { code: 47, topic: 'rows' });
  const { writer, clock, steps } = writerOver([{ send: () => Promise.reject(fenced) }], { abortHanging });
  const opening = writer.open(async () => 'position', signal);
  await clock.advance(1_000);
  assert.equal(await opening, 'position');
  assert.ok(steps.includes('2 abort'));
});

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
  const sinceMs = asked.map(({ sinceMs }) => sinceMs);
  assert.deepEqual(sinceMs, [-2_000, 3_000, 3_000]);
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
