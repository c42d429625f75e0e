import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOwnershipProof } from '../../../src/kafka/group-reader.ts';

const { signal } = new AbortController();

test('a replica that never joined has no proof, and the first join is one', async () => {
  const proof = createOwnershipProof();
  const proven = proof.since(Number.NEGATIVE_INFINITY, signal);
  proof.confirm(5);
  await proven;
  await proof.since(Number.NEGATIVE_INFINITY, signal);
});

test('what the group was asked before an error proves nothing after it', async () => {
  const proof = createOwnershipProof();
  proof.confirm(5);
  const lost = new AbortController();
  let proven = false;
  const waiting = proof.since(7, lost.signal).then(() => {
    proven = true;
  });
  proof.confirm(6);
  proof.confirm(7);
  proof.confirm(3);
  await new Promise(setImmediate);
  assert.equal(proven, false);
  proof.confirm(8);
  await waiting;
});

test('waiting for a proof ends when the partition is lost', async () => {
  const lost = new AbortController();
  const waiting = createOwnershipProof().since(7, lost.signal);
  const reason = new Error('lost');
  lost.abort(reason);
  await assert.rejects(waiting, reason);
});
