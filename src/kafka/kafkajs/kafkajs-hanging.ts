import type { Transaction } from 'kafkajs';
import { ConnectorError } from '../../errors.ts';
import type { Log } from '../../support/log.ts';
import type { TopicPartition } from '../topic.ts';
import type { ConsumerOffset, WriterOptions } from '../transactional-writer.ts';
import { isFenced, topicsOf } from './kafkajs-errors.ts';
import { sendRound } from './send-plan.ts';
import type { Ending, WriterProducer } from './writer-producer.ts';

/*
 * Records hang if nothing ends their transaction in their partition. They hide later commits, and get the outcome of
 * the id's next transaction. Since Kafka 4.1, a killed broker without replicas leaves such records: markers are dropped
 * while the broker is away (KAFKA-20734). A power loss can lose the end of the transaction log.
 *
 * So before any offset is read, one transaction ends the hanging records in every partition and in the offset's group.
 * If the coordinator reports a commit of the last transaction, the new transaction adds all partitions and commits,
 * without a record. Otherwise it writes to all partitions and aborts; this also shows if they take records.
 *
 * Only records of the last transaction hang: after a lost connection, a producer first ends its last transaction again.
 * A writer aborts a transaction that it cut off itself. It commits a transaction of another process: this may repeat a
 * part of a page, but an abort could lose a part of an acknowledged page. An opening may leave out partitions, such as
 * the partition of a stopped source. The outcome of the opening is kept for them, and a later opening uses it. If some
 * partitions cannot be added, the others are committed. So the coordinator still reports a commit.
 *
 * One double fault remains: if the process or its coordinator fails between the fence and this commit, the next opening
 * aborts the hanging records.
 */

const NOT_COMPRESSED = 0;
const KEY = Buffer.from('["",{"settles":true}]');

/** A writer that continued from the last visible offset would repeat all hidden records. */
export function transactionHangs(topic: string, partitions: readonly number[], openMs: number): ConnectorError {
  const where = partitions.length === 0 ? topic : `${topic}, partition ${partitions.join(', ')}`;
  const command = `kafka-transactions.sh --bootstrap-server <broker>`;
  const text =
    `A transaction has been open for ${openMs} ms in ${where}, longer than the connector allows. It hides all later ` +
    `commits. Find it with \`${command} find-hanging --topic ${topic}\`, then end it with \`${command} abort\`. ` +
    'Until then nothing is written.';
  return new ConnectorError('TRANSACTION_HANGS', text, { fields: { topic, partitions } });
}

export class AbortHangingFailed extends Error {
  readonly topic: string;

  constructor(topic: string, cause: unknown) {
    super(`topic ${topic} takes no records`, { cause });
    this.topic = topic;
  }
}

/** With `oneByOne`, a failure that names no topic still shows which topic takes no records. */
export type TouchingWay = 'together' | 'oneByOne';

/** The producer's first transaction. Fences every earlier holder of the id, and ends the last transaction's records. */
export async function fenceAndEnd(
  producer: WriterProducer,
  last: LastTransaction,
  { abortHanging, abortHangingOffset, transactionalId, log }: Fencing,
  way: TouchingWay,
): Promise<void> {
  await producer.connect();
  const partitions = abortHanging?.() ?? [];
  // The state is read before the fence, because the fence ends the transaction.
  const wasCommitted = partitions.length > 0 && (await last.wasCommitted(producer));
  const [ending, otherwise] = wasCommitted ? (['commit', 'abort'] as const) : (['abort', 'commit'] as const);
  const others = last.left.endingOtherwise(partitions, ending);
  const own = partitions.filter((at) => !others.includes(at));
  const transaction = await producer.transaction();
  if (wasCommitted) {
    log.debug({ transactionalId }, 'the last transaction was committed; its hanging records are committed');
    await endAll(transaction, ending, () => addAfterFence(transaction, own, abortHangingOffset, way));
  } else {
    await touchAll(transaction, own, abortHangingOffset, way);
    await transaction.abort();
  }
  if (others.length > 0) {
    log.debug({ transactionalId, otherwise }, 'hanging transactions of other partitions keep their original outcome');
    const earlier = await producer.transaction();
    await endAll(earlier, otherwise, () => sendTo(earlier, others, ADDED, way));
  }
  last.left.opened(partitions, ending);
}

/** Markers of the last transaction may be lost. No other transaction began since, so no offset is read again. */
export async function endAgain(
  producer: WriterProducer,
  { abortHanging, abortHangingOffset, transactionalId, log }: Fencing,
): Promise<void> {
  const ending = producer.cutOffAfter?.();
  const partitions = abortHanging?.() ?? [];
  if (ending === undefined || partitions.length === 0) return;
  log.debug({ transactionalId, ending }, 'a connection was lost; the last transaction is ended again');
  const transaction = await producer.transaction();
  await endAll(transaction, ending, async () => {
    // Adding partitions waits for the end of the previous transaction; adding the group does not.
    await sendTo(transaction, partitions, ADDED, 'together');
    if (abortHangingOffset !== undefined) await addGroup(transaction, abortHangingOffset);
  });
}

export function isCutOff(producer: WriterProducer): boolean {
  return producer.cutOffAfter?.() !== undefined;
}

/** Ends the transaction even if `add` fails. Otherwise the next opening would abort committed records. */
async function endAll(transaction: Transaction, ending: Ending, add: () => Promise<void>): Promise<void> {
  try {
    await add();
  } catch (error) {
    await transaction[ending]().catch(() => {});
    throw error;
  }
  await transaction[ending]();
}

interface Fencing extends Pick<WriterOptions, 'abortHanging' | 'abortHangingOffset'> {
  readonly transactionalId: string;
  readonly log: Log;
}

/** No request shows where records hang, so all partitions get a record. The caller aborts the transaction. */
async function touchAll(
  transaction: Transaction,
  partitions: readonly TopicPartition[],
  consumerOffset: Omit<ConsumerOffset, 'offset'> | undefined,
  way: TouchingWay,
): Promise<void> {
  await sendTo(transaction, partitions, { key: KEY }, way);
  if (consumerOffset === undefined) return;
  const { groupId, topic, partition } = consumerOffset;
  const topics = [{ topic, partitions: [{ partition, offset: '0' }] }];
  await transaction.sendOffsets({ consumerGroupId: groupId, topics });
}

const ADDED = { key: null, addsOnly: true };

/** Adds the group or the position's partition first, because this alone makes the coordinator report a commit. */
async function addAfterFence(
  transaction: Transaction,
  partitions: readonly TopicPartition[],
  consumerOffset: Omit<ConsumerOffset, 'offset'> | undefined,
  way: TouchingWay,
): Promise<void> {
  if (consumerOffset === undefined) await sendTo(transaction, partitions.slice(0, 1), ADDED, way);
  else await addGroup(transaction, consumerOffset);
  await sendTo(transaction, consumerOffset === undefined ? partitions.slice(1) : partitions, ADDED, way);
}

function addGroup(transaction: Transaction, { groupId }: Pick<ConsumerOffset, 'groupId'>): Promise<void> {
  return transaction.sendOffsets({ consumerGroupId: groupId, topics: [] });
}

async function sendTo(
  transaction: Transaction,
  partitions: readonly TopicPartition[],
  content: { readonly key: Buffer | null; readonly addsOnly?: boolean },
  way: TouchingWay,
): Promise<void> {
  const rounds = way === 'together' ? [partitions] : partitions.map((each) => [each]);
  for (const round of rounds) {
    if (round.length === 0) continue;
    const sends = round.map((at) => ({ ...at, records: [{ ...at, value: null, headers: {}, ...content }] }));
    await sendRound(transaction, sends, NOT_COMPRESSED).catch((cause: unknown) => {
      // Another writer took the id. This error says nothing about the topic.
      if (isFenced(cause)) throw cause;
      const topic = topicsOf(cause)?.[0] ?? (way === 'oneByOne' ? round[0]?.topic : undefined);
      throw topic === undefined ? cause : new AbortHangingFailed(topic, cause);
    });
  }
}

/** For partitions that an opening left out: the outcome of their hanging records, as known at that opening. */
class LeftPartitions {
  #opened: ReadonlySet<string> = new Set();
  readonly #endings = new Map<string, Ending>();

  opened(partitions: readonly TopicPartition[], ending: Ending): void {
    const now = new Set(partitions.map(nameOf));
    for (const name of this.#opened) if (!now.has(name) && !this.#endings.has(name)) this.#endings.set(name, ending);
    for (const name of now) this.#endings.delete(name);
    this.#opened = now;
  }

  endingOtherwise(partitions: readonly TopicPartition[], ending: Ending): readonly TopicPartition[] {
    return partitions.filter((at) => (this.#endings.get(nameOf(at)) ?? ending) !== ending);
  }
}

function nameOf({ topic, partition }: TopicPartition): string {
  return `${topic}/${partition}`;
}

/** In these states, the coordinator has decided to commit. The fence returns only after the markers are sent. */
const COMMITTED: readonly string[] = ['PrepareCommit', 'CompleteCommit'];
const EMPTY = 'Empty';

export class LastTransaction {
  readonly left = new LeftPartitions();
  /** Records of this writer were acknowledged, but their commit was never requested. */
  #isCutOff = false;
  /** An earlier opening attempt saw a commit; its fence may have replaced that state by Empty. */
  #wasCommitted = false;

  wasWritten(): void {
    this.#isCutOff = true;
  }

  ended(): void {
    this.#isCutOff = false;
    this.#wasCommitted = false;
  }

  /** Call it before the fence. A reported commit does not belong to a transaction that this writer cut off. */
  async wasCommitted(producer: WriterProducer): Promise<boolean> {
    const state = await producer.lastTransaction?.();
    if (state === undefined) return false;
    this.#wasCommitted = !this.#isCutOff && (COMMITTED.includes(state) || (state === EMPTY && this.#wasCommitted));
    return this.#wasCommitted;
  }
}
