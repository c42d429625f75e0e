import type { OwnershipProof } from './ownership-proof.ts';

/**
 * Among how many members a group's work is divided, so that each takes its share of a limit that holds for all of them.
 *
 * Standby members own nothing and ask for nothing, so the owners may divide the limit among themselves. But an owner of
 * before, which the group has given up, may still go on. So at each join, and as soon as the group rebalances, all
 * members count; the owners alone count when one session time-out has passed since without another join. And a member
 * that the group has not confirmed for half of that time, as when it is cut off, counts all members again: its larger
 * share ends before the group gives its work to others.
 */
export class MemberShare {
  readonly #sessionMs: number;
  #all = 1;
  /** Null until the group has said who owns what after the newest join. */
  #owners: number | null = null;
  #joinedMs = Number.POSITIVE_INFINITY;
  readonly #proof: Pick<OwnershipProof, 'holdsSince'>;

  constructor(sessionMs: number, proof: Pick<OwnershipProof, 'holdsSince'>) {
    this.#sessionMs = sessionMs;
    this.#proof = proof;
  }

  joined(nowMs: number): void {
    this.#owners = null;
    this.#joinedMs = nowMs;
  }

  /** Another join is under way. */
  rebalances(): void {
    this.#owners = null;
  }

  /** As the group has answered after a join, this member included. `owners`: null where that does not stand yet. */
  counted(all: number, owners: number | null): void {
    this.#all = Math.max(1, all);
    this.#owners = owners === 0 ? null : owners;
  }

  get all(): number {
    return this.#all;
  }

  among(nowMs: number): number {
    const isSteady = nowMs - this.#joinedMs >= this.#sessionMs && this.#proof.holdsSince(nowMs - this.#sessionMs / 2);
    return this.#owners !== null && isSteady ? this.#owners : this.#all;
  }
}
