import { LeftPartitions } from './left-partitions.ts';
import type { WriterProducer } from './writer-producer.ts';

/** The coordinator has decided to commit; the fence returns only once it has sent the markers. */
const COMMITTED: readonly string[] = ['PrepareCommit', 'CompleteCommit'];
/** Nothing was done since a fence. */
const EMPTY = 'Empty';

/** Whether the last transaction of a transactional id was committed, as its coordinator says and its writer knows. */
export class LastTransaction {
  readonly left = new LeftPartitions();
  /** Records of this writer were acknowledged, and their commit was never requested. */
  #isCutOff = false;
  /** What an earlier attempt to open has learned: its fence may have replaced that state by Empty. */
  #wasCommitted = false;

  /** Records of the transaction were acknowledged: so all before it has ended. */
  wasWritten(): void {
    this.#isCutOff = true;
  }

  /** Only the coordinator knows about what follows, or nothing is left to know. */
  ended(): void {
    this.#isCutOff = false;
    this.#wasCommitted = false;
  }

  /** To be called before the fence. A transaction that the writer itself has cut off is not the committed one. */
  async wasCommitted(producer: WriterProducer): Promise<boolean> {
    const state = await producer.lastTransaction?.();
    if (state === undefined) return false;
    this.#wasCommitted = !this.#isCutOff && (COMMITTED.includes(state) || (state === EMPTY && this.#wasCommitted));
    return this.#wasCommitted;
  }
}
