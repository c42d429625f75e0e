import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemberShare } from '../../../src/kafka/member-share.ts';
import { createOwnershipProof } from '../../../src/kafka/ownership-proof.ts';

const SESSION_MS = 6_000;

function shareOf(joinedMs: number) {
  const proof = createOwnershipProof();
  const share = new MemberShare(SESSION_MS, proof);
  share.joined(joinedMs);
  proof.confirm(joinedMs);
  return { share, confirm: proof.confirm };
}

test('all members count at first, and the owners alone after one session time-out without another join', () => {
  const { share, confirm } = shareOf(0);
  share.counted(5, 2);
  confirm(5_900);
  assert.deepEqual([share.among(0), share.among(5_999), share.among(6_000)], [5, 5, 2]);
});

test('a join and a rebalance under way bring all members back at once, and the wait begins again', () => {
  const { share, confirm } = shareOf(0);
  share.counted(3, 1);
  confirm(9_900);
  assert.equal(share.among(10_000), 1);
  share.rebalances();
  assert.equal(share.among(10_000), 3);
  share.joined(10_200);
  assert.equal(share.among(10_200), 3, 'as many as there were, until the group has answered');
  share.counted(4, 2);
  confirm(16_100);
  assert.deepEqual([share.among(16_199), share.among(16_200)], [4, 2]);
});

test('an owner that the group has not confirmed for half a session takes the share of all members', () => {
  const { share, confirm } = shareOf(0);
  share.counted(2, 1);
  confirm(20_000);
  assert.deepEqual([share.among(22_999), share.among(23_000)], [1, 2]);
  confirm(30_000);
  assert.equal(share.among(30_001), 1, 'it was not taken from the group');
});

test('while nobody owns anything, or the assignment does not stand yet, all members count', () => {
  const { share, confirm } = shareOf(0);
  confirm(9_000);
  share.counted(3, 0);
  assert.equal(share.among(10_000), 3);
  share.counted(3, null);
  assert.equal(share.among(10_000), 3);
});

test('the shares of all members together never exceed the limit, as long as each is a member', () => {
  // Two owners and a standby, which see the rebalance and the end of the wait at different moments.
  const members = [0, 400, 900].map(shareOf);
  for (const { share } of members) share.counted(3, 2);
  for (let nowMs = 1_000; nowMs < 12_000; nowMs += 100) {
    for (const { confirm } of members) confirm(nowMs);
    const [first, second] = members.map(({ share }) => 1 / share.among(nowMs));
    assert.ok((first ?? 0) + (second ?? 0) <= 1, `at ${nowMs} ms`);
  }
});
