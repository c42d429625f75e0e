import type { Transaction } from 'kafkajs';
import type { Log } from '../../support/log.ts';
import type { TopicPartition } from '../topic.ts';
import type { ConsumerOffset, WriterOptions } from '../transactional-writer.ts';
import { isFenced, topicsOf } from './kafkajs-errors.ts';
import { sendRound } from './send-round.ts';
import type { LastTransaction } from './transactions/last-transaction.ts';
import type { Ending, WriterProducer } from './transactions/writer-producer.ts';

/*
 * Records hang when they are in a partition and nothing ends their transaction there. They are hidden from the reading of
 * the position, and end as the next transaction of the same id does. A broker without replicas that is killed leaves such
 * records. Kafka 4.1 and later drop markers while it is away and when it starts again: a partition without a leader counts
 * as deleted, and the transaction as complete (KAFKA-20734). And a machine that loses power can lose the end of the
 * transaction log, so that the coordinator does not know the transaction.
 *
 * So before any position is read, one transaction ends what hangs in every partition, and for the group of the offset. The
 * coordinator is asked how the last transaction ended. If it was committed, the new one adds all partitions, without a
 * record, and is committed: its marker ends what hangs, and changes nothing elsewhere. Otherwise it writes to all
 * partitions, which also shows whether they take records, and is aborted.
 *
 * Only records of the last transaction hang. A transaction begins only when the coordinator has ended the one before. An
 * opening ends what hangs in all partitions; a producer that failed or aborted is never used again; and one that has lost a
 * connection after a transaction ends that transaction again, before it begins the next, and adds none for records when
 * that happens while it waits for the end of the one before (produce/send-messages.ts). Where the coordinator has lost the
 * end of its log, it names the transaction before. A writer that has cut off a transaction itself knows that, and aborts.
 * For any other process, to commit is right when the position hangs too, since it is sent last: then the page is whole.
 * When it does not, a part of the page comes twice; to abort could lose a part of an acknowledged page.
 *
 * An opening may leave out partitions of earlier ones, as those of a source whose topics take no records. What hangs there
 * is ended once they are back, as it would have been then, whatever was written elsewhere meanwhile. Another process does
 * not know that.
 *
 * Where not all partitions can be added, as while a broker is away, the transaction is committed with the others: so the
 * coordinator still names a committed one when the next opening asks, also that of another process.
 *
 * What remains is a second fault: when the process ends, or its connection to the coordinator is lost, between the first
 * request of this transaction and its commit, the next opening finds it open, and what hangs is aborted. The same holds for
 * a process that ends between its fence and this transaction: another one does not learn any more what was there before.
 */

const NOT_COMPRESSED = 0;
const KEY = Buffer.from('["",{"settles":true}]');

/** The record for the aborted transaction could not be written to this topic. */
export class AbortHangingFailed extends Error {
  readonly topic: string;

  constructor(topic: string, cause: unknown) {
    super(`topic ${topic} takes no records`, { cause });
    this.topic = topic;
  }
}

/**
 * All partitions by one request to each broker, or one after the other: then a failure without the name of a topic, as
 * when a broker does not answer, shows which one takes no records.
 */
export type TouchingWay = 'together' | 'oneByOne';

/** The producer's first transaction: fences every earlier holder of the id, and ends what hangs of the last transaction. */
export async function fenceAndEnd(
  producer: WriterProducer,
  last: LastTransaction,
  { abortHanging, abortHangingOffset, transactionalId, log }: Fencing,
  way: TouchingWay,
): Promise<void> {
  await producer.connect();
  const partitions = abortHanging?.() ?? [];
  // Before the fence, which ends the transaction.
  const wasCommitted = partitions.length > 0 && (await last.wasCommitted(producer));
  const [ending, otherwise] = wasCommitted ? (['commit', 'abort'] as const) : (['abort', 'commit'] as const);
  const others = last.left.endingOtherwise(partitions, ending);
  const own = partitions.filter((at) => !others.includes(at));
  const transaction = await producer.transaction();
  if (wasCommitted) {
    log.debug({ transactionalId }, 'the last transaction was committed: what hangs of it is committed');
    await endAll(transaction, ending, () => addAfterFence(transaction, own, abortHangingOffset, way));
  } else {
    await touchAll(transaction, own, abortHangingOffset, way);
    await transaction.abort();
  }
  if (others.length > 0) {
    log.debug(
      { transactionalId, otherwise },
      'what hangs where the writer has not written since is ended as it was then',
    );
    const earlier = await producer.transaction();
    await endAll(earlier, otherwise, () => sendTo(earlier, others, ADDED, way));
  }
  last.left.opened(partitions, ending);
  // What was hidden is part of the position once its partition has the marker.
  if (wasCommitted || others.length > 0) await producer.markersWritten?.();
}

/**
 * Ends the last transaction of the producer again, where a connection was lost since: the broker may have been killed, and
 * its markers dropped. A producer is fenced once another one has taken the id. So no other transaction was begun, and no
 * position is read again. Where the connection was idle for too long, this changes nothing.
 */
export async function endAgain(
  producer: WriterProducer,
  { abortHanging, abortHangingOffset, transactionalId, log }: Fencing,
): Promise<void> {
  const ending = producer.cutOffAfter?.();
  const partitions = abortHanging?.() ?? [];
  if (ending === undefined || partitions.length === 0) return;
  log.debug({ transactionalId, ending }, 'a connection has ended since the last transaction: it is ended again');
  const transaction = await producer.transaction();
  await endAll(transaction, ending, async () => {
    // Unlike the group, partitions wait until the transaction before has ended.
    await sendTo(transaction, partitions, ADDED, 'together');
    if (abortHangingOffset !== undefined) await addGroup(transaction, abortHangingOffset);
  });
}

/** Whether a connection was lost since the producer's last transaction. */
export function isCutOff(producer: WriterProducer): boolean {
  return producer.cutOffAfter?.() !== undefined;
}

/**
 * Ends the transaction in the given way, also when not all could be added, as when a broker is lost: the next opening would
 * find it open, and abort what hangs of a committed one. kafkajs sends nothing where nothing was added.
 */
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

/**
 * Writes a record to every partition, and commits the consumer offset, which writes to the broker's partition of offsets.
 * All of them, because no request shows whether records hang there, and that depends on where the transaction was cut.
 * The caller aborts the transaction with all records; so the value of the offset does not matter.
 */
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

/** Without a record, so that only what hangs there changes. */
const ADDED = { key: null, addsOnly: true };

/**
 * Adds the group to the transaction, or else the partition of the position, before all others: a transaction that is
 * committed keeps the coordinator's knowledge of the last one, also for another process, when no other partition can be added.
 */
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

/** Without an offset. */
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
      // Another writer has taken the id meanwhile: that says nothing of the topic.
      if (isFenced(cause)) throw cause;
      const topic = topicsOf(cause)?.[0] ?? (way === 'oneByOne' ? round[0]?.topic : undefined);
      throw topic === undefined ? cause : new AbortHangingFailed(topic, cause);
    });
  }
}
