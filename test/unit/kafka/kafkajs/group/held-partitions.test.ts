import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createOwnershipProof, type OwnershipProof } from '../../../../../src/kafka/group-reader.ts';
import { HeldPartitions } from '../../../../../src/kafka/kafkajs/group/held-partitions.ts';
import { settle } from '../../stepped-clock.ts';

const on = (...partitions: number[]) => partitions.map((partition) => ({ topic: 't', partition }));

/** A member whose readers stand once `setUp` has resolved. */
function member(setUp = async () => {}) {
  const steps: string[] = [];
  const proof = createOwnershipProof();
  const proofs: OwnershipProof['since'][] = [];
  const held = new HeldPartitions({
    ownershipProof: proof.since,
    async assigned({ partition }, signal, ownershipProof) {
      signal.addEventListener('abort', () => steps.push(`lost ${partition}`));
      proofs.push(ownershipProof);
      await setUp();
      return { position: () => 0n, take: async () => {} };
    },
    failed: (error) => assert.fail(String(error)),
    fetcher: {
      pause: () => {},
      readFrom: ({ partition }) => void steps.push(`read ${partition}`),
    },
  });
  return { held, steps, proof, proofs };
}

test('a partition that was lost while it was set up is not read', async () => {
  const ready = Promise.withResolvers<void>();
  const { held, steps } = member(() => ready.promise);
  held.rejoin(on(0));
  held.rejoin([]);
  ready.resolve();
  await settle();
  assert.deepEqual(steps, ['lost 0']);
});

test('a member that has ended takes no partition more, though a join was still under way', async () => {
  const { held, steps } = member();
  held.rejoin(on(0));
  await settle();
  held.end(new Error('stopped'));
  held.rejoin(on(0, 1));
  await settle();
  assert.deepEqual(steps, ['read 0', 'lost 0']);
});

test('that the member is confirmed proves nothing for a partition that it has lost', async () => {
  const { held, proof, proofs } = member();
  const waiting = new AbortController().signal;
  held.rejoin(on(0, 1));
  const [lost, kept] = proofs;
  assert.ok(lost && kept);
  const pending = lost(7, waiting);
  held.rejoin(on(1));
  proof.confirm(8);
  await assert.rejects(pending, /another member/);
  await assert.rejects(lost(7, waiting), /another member/);
  await kept(7, waiting);
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
  await settle();
  assert.equal(proven, false);
  proof.confirm(8);
  await waiting;
});
