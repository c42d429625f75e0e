import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReadBatch } from '../../../../../src/kafka/group-reader.ts';
import { createOwnershipProof, type OwnershipProof } from '../../../../../src/kafka/group-reader.ts';
import { HeldPartitions } from '../../../../../src/kafka/kafkajs/group/held-partitions.ts';
import type { TopicPartition } from '../../../../../src/kafka/topic.ts';

const on = (...partitions: number[]) => partitions.map((partition) => ({ topic: 't', partition }));
const [first = { topic: '', partition: 0 }] = on(0);
/** Lets everything that is ready happen. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

const batch = (from: bigint, next: bigint): ReadBatch => {
  const offsets = Array.from({ length: Number(next - from) }, (_, index) => from + BigInt(index));
  const records = offsets.map((offset) => ({ ...first, key: null, value: null, headers: {}, offset, timestampMs: 1 }));
  return { records, nextOffset: next, endOffset: next };
};

/** A member whose readers note what they are given; `hold` keeps taking pending. */
function member({ hold = async () => {}, setUp = async () => {}, position = 0n } = {}) {
  const steps: string[] = [];
  const failures: unknown[] = [];
  const signals: AbortSignal[] = [];
  const at = { position };
  const proof = createOwnershipProof();
  const named = (partitions: readonly TopicPartition[]) => partitions.map(({ partition }) => partition).join();
  const proofs: OwnershipProof['since'][] = [];
  const held = new HeldPartitions({
    ownershipProof: (sinceMs, signal) => proof.since(sinceMs, signal),
    async assigned({ partition }, signal, ownershipProof) {
      steps.push(`assigned ${partition}`);
      signals.push(signal);
      proofs.push(ownershipProof);
      await setUp();
      return {
        position: () => at.position,
        async take({ records, nextOffset }) {
          steps.push(`take ${records.map(({ offset }) => offset).join()}`);
          await hold();
          at.position = nextOffset;
        },
      };
    },
    joined: (partitions) => void steps.push(`joined ${named(partitions)}`),
    failed: (error) => void failures.push(error),
    fetcher: {
      pause: (partitions) => void steps.push(`pause ${named(partitions)}`),
      readFrom: ({ partition }, offset) => void steps.push(`read ${partition} from ${offset}`),
    },
  });
  const since = () => steps.splice(0);
  return { held, since, failures, signals, proof, proofs };
}

test('a kept partition goes on at its own position once its batch was taken; what was fetched before is left out', async () => {
  const taking = Promise.withResolvers<void>();
  const { held, since } = member({ hold: () => taking.promise });
  held.rejoin(on(0));
  await settle();
  const taken = held.offer(first, batch(0n, 4n));
  await settle();
  since();
  held.rejoin(on(0));
  await held.offer(first, batch(4n, 8n));
  assert.deepEqual(since(), ['pause 0', 'joined 0']);
  taking.resolve();
  await taken;
  await settle();
  assert.deepEqual(since(), ['read 0 from 4']);
});

test('a partition that was lost while it was set up is not read', async () => {
  const ready = Promise.withResolvers<void>();
  const { held, since } = member({ setUp: () => ready.promise });
  held.rejoin(on(0));
  held.rejoin([]);
  since();
  ready.resolve();
  await settle();
  assert.deepEqual(since(), []);
});

test('a partition that is paused while its batches are taken goes on behind the last of them', async () => {
  const taking = Promise.withResolvers<void>();
  const { held, since } = member({ hold: () => taking.promise });
  held.rejoin(on(0));
  await settle();
  held.offer(first, batch(0n, 2n));
  held.pauseUntilTaken(first);
  held.offer(first, batch(2n, 3n));
  held.pauseUntilTaken(first);
  await settle();
  since();
  taking.resolve();
  await settle();
  assert.deepEqual(since(), ['take 2', 'read 0 from 3']);
});

test('a member that has ended takes no partition more, though a join was still under way', async () => {
  const { held, since, signals } = member();
  held.rejoin(on(0));
  await settle();
  held.end(new Error('stopped'));
  since();
  held.rejoin(on(0, 1));
  await settle();
  assert.deepEqual(since(), []);
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true],
  );
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
