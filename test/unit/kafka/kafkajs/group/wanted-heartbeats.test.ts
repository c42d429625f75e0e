import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WantedHeartbeats } from '../../../../../src/kafka/kafkajs/group/wanted-heartbeats.ts';
import { DEFAULT_TUNING, longestProofMs } from '../../../../../src/kafka/kafkajs/tuning.ts';
import { createOwnershipProof } from '../../../../../src/kafka/ownership-proof.ts';
import { SteppedClock } from '../../stepped-clock.ts';

function heartbeatsOf(leaving = new AbortController()) {
  const clock = new SteppedClock();
  const heartbeats = new WantedHeartbeats(DEFAULT_TUNING, clock, leaving.signal);
  const wait = () => {
    const waiting = new AbortController();
    heartbeats.waits.longWaits.add(waiting);
    return waiting.signal;
  };
  return { clock, heartbeats, wait };
}

test('however short a session is, the heartbeats of a lone member come before a proof is too old, and before half of it', () => {
  for (const groupSessionTimeoutMs of [1_000, 2_000, 3_000, 6_000, 45_000, 300_000]) {
    const tuning = { ...DEFAULT_TUNING, groupSessionTimeoutMs };
    const { waits } = new WantedHeartbeats(tuning, new SteppedClock(), new AbortController().signal);
    assert.ok(waits.aloneMs < longestProofMs(tuning), `${groupSessionTimeoutMs}`);
    assert.ok(longestProofMs(tuning) <= groupSessionTimeoutMs / 2);
    assert.ok(longestProofMs(tuning) <= 2_000);
  }
});

test('a proof that is awaited ends a long wait as soon as the next heartbeat can be sent', async () => {
  const { clock, heartbeats, wait } = heartbeatsOf();
  heartbeats.came();
  const proof = createOwnershipProof(() => heartbeats.want());
  proof.confirm(clock.monotonicMs() - 100);
  await proof.since(clock.monotonicMs() - 200, new AbortController().signal);
  const waiting = wait();
  await clock.advance(1_000);
  assert.equal(waiting.aborted, false, 'a proof that is there wants no heartbeat');

  heartbeats.came();
  const awaited = proof.since(clock.monotonicMs(), new AbortController().signal);
  await clock.advance(DEFAULT_TUNING.confirmRestingMs - 1);
  assert.equal(waiting.aborted, false);
  await clock.advance(22);
  assert.equal(waiting.aborted, true);
  proof.confirm(clock.monotonicMs());
  await awaited;
});

test('when the last heartbeat is long past, the wait ends at once; and the next proof ends the next wait', async () => {
  const { clock, heartbeats, wait } = heartbeatsOf();
  for (const waiting of [wait(), wait()]) {
    heartbeats.want();
    await clock.advance(1);
    assert.equal(waiting.aborted, true);
  }
});
