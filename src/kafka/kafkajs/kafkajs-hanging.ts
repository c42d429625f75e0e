import type { Transaction } from 'kafkajs';
import { ConnectorError } from '../../errors.ts';
import type { Log } from '../../support/log.ts';
import type { TopicPartition } from '../topic.ts';
import type { ConsumerOffset, WriterOptions } from '../transactional-writer.ts';
import { isFenced, topicsOf } from './kafkajs-errors.ts';
import { sendRound } from './send-plan.ts';
import type { Ending, WriterProducer } from './writer-producer.ts';

/*
 * Records hang if their partition never gets the marker that ends their transaction. Hanging records hide all later
 * records. The next transaction with the same transactional id gives its own outcome to the hanging records. Since Kafka
 * 4.1, records hang if a broker is killed and its partitions are on no other broker: the markers for these partitions
 * are dropped while the broker is away (KAFKA-20734). Records also hang if a power loss deletes the end of the transaction log.
 *
 * So at each opening, before any offset is read, a new transaction ends the hanging records of the writer's partitions
 * and consumer group. If the coordinator reports that the last transaction was committed, the new transaction adds all
 * partitions and commits, without a record. If adding a partition fails, the new transaction still commits. If no commit is
 * reported, the new transaction writes to all partitions and aborts. The write also shows if the partitions accept records.
 *
 * After a lost connection, a producer ends its last transaction again before the next one. So only its records can hang.
 * If this writer began the last transaction and never requested its commit, the writer aborts. If another process began
 * the last transaction, a reported commit is repeated: an abort could lose a part of an acknowledged page. An opening
 * can omit partitions (those of a stopped source). Then the writer remembers the outcome of the records in these
 * partitions. The next opening with these partitions uses this outcome.
 *
 * One case is not covered: after a failure between fence and new commit, the next opening aborts committed records.
 */

const NOT_COMPRESSED = 0;
const KEY = Buffer.from('["",{"settles":true}]');

/** The error that stops a writer. A writer that continued at the last visible offset would repeat hidden records. */
export function transactionHangs(topic: string, partitions: readonly number[], openMs: number): ConnectorError {
  const where = partitions.length === 0 ? topic : `${topic}, partition ${partitions.join(', ')}`;
  const command = `kafka-transactions.sh --bootstrap-server <broker>`;
  const text =
    `A transaction has been open for ${openMs} ms in ${where}, longer than the connector allows. It hides all later ` +
    `commits. Find it with \`${command} find-hanging --topic ${topic} --max-transaction-timeout 1\`, then end it with \`${command} abort\`. ` +
    'Until then nothing is written.';
  return new ConnectorError('TRANSACTION_HANGS', text, { fields: { topic, partitions } });
}

export class AbortHangingFailed extends Error {
  readonly topic: string;

  constructor(topic: string, cause: unknown) {
    super(`topic ${topic} accepts no records`, { cause });
    this.topic = topic;
  }
}

/** `oneByOne`: each partition has its own request, so each failure shows which topic accepts no records. */
export type TouchingWay = 'together' | 'oneByOne';

/** Fences all earlier producers with this transactional id, and ends the hanging records of the last transaction. */
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

/** After a lost connection, ends the last transaction again: perhaps the broker did not get the markers. */
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
    // Partitions come first: their request waits until the previous transaction ends. The group's request does not wait.
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

/** Writes to all partitions, because no request shows where records hang. The caller must abort the transaction. */
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

/** Adds the group (or one partition) alone first. So the coordinator reports a commit even if adding the rest fails. */
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
      // Another writer took over the transactional id. This error says nothing about the topic.
      if (isFenced(cause)) throw cause;
      const topic = topicsOf(cause)?.[0] ?? (way === 'oneByOne' ? round[0]?.topic : undefined);
      throw topic === undefined ? cause : new AbortHangingFailed(topic, cause);
    });
  }
}

/** Remembers the outcome of hanging records in the partitions that an opening has omitted. */
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

/** In these states, the coordinator has decided to commit. The fence ends only after the coordinator sent the markers. */
const COMMITTED: readonly string[] = ['PrepareCommit', 'CompleteCommit'];
const EMPTY = 'Empty';

export class LastTransaction {
  readonly left = new LeftPartitions();
  /** True if records of this writer were acknowledged, but the commit of these records was never requested. */
  #isCutOff = false;
  /** True if an earlier attempt of this opening saw a commit. The fence of that attempt can change the state to Empty. */
  #wasCommitted = false;

  wasWritten(): void {
    this.#isCutOff = true;
  }

  ended(): void {
    this.#isCutOff = false;
    this.#wasCommitted = false;
  }

  /** Call it before the fence. Returns false if `#isCutOff`: then a reported commit is that of an earlier transaction. */
  async wasCommitted(producer: WriterProducer): Promise<boolean> {
    const state = await producer.lastTransaction?.();
    if (state === undefined) return false;
    this.#wasCommitted = !this.#isCutOff && (COMMITTED.includes(state) || (state === EMPTY && this.#wasCommitted));
    return this.#wasCommitted;
  }
}
