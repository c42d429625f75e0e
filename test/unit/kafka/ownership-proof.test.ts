import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOwnershipProof } from '../../../src/kafka/group-reader.ts';

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
