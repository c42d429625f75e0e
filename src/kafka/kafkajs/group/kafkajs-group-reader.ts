import type { Consumer, EachBatchPayload, Kafka, PartitionAssigner } from 'kafkajs';
import { ConnectorError } from '../../../errors.ts';
import type { Clock } from '../../../support/clock.ts';
import { StallWatch, within } from '../../../support/deadline.ts';
import type { Log } from '../../../support/log.ts';
import { untilAborted } from '../../../support/until-aborted.ts';
import type { Assignor, GroupReader, GroupReaderOptions, ReadBatch } from '../../group-reader.ts';
import { createOwnershipProof, type OwnershipProof } from '../../group-reader.ts';
import { assignmentOfOne, type GroupQuestions, headStart } from '../../head-start.ts';
import type { TopicPartition } from '../../topic.ts';
import { kafkaReason } from '../kafkajs-errors.ts';
import { committedRecord } from '../kafkajs-record.ts';
import { memberFailed } from '../refusals.ts';
import { FETCH_BYTES, FETCH_BYTES_PER_PARTITION, joinLimits, type KafkaTuning, kafkajsRetry } from '../tuning.ts';
import { HeldPartitions, type PartitionFetcher } from './held-partitions.ts';
import { listed, reportMemberCount } from './kafkajs-member-count.ts';

export interface KafkajsGroupReaderOptions {
  readonly kafkajs: typeof import('kafkajs');
  readonly kafka: Kafka;
  readonly tuning: KafkaTuning;
  readonly clock: Clock;
  readonly log: Log;
}

/** kafkajs hands over the batches of at most this many partitions in parallel. No member has more partitions. */
const MAX_PARTITIONS_AT_ONCE = 100;
// After a fetch, kafkajs sends a heartbeat if one is due. A fetch can end slightly before its maximum wait. So the
// heartbeat interval is at least this much shorter than the maximum wait.
const CLOCK_SLACK_MS = 20;

/**
 * Joins consumer groups with kafkajs. kafkajs' auto-commit is off: it would even commit the target of a seek. After
 * each join, kafkajs would read every partition from the group's committed offset. So all partitions are paused at the
 * join, and each partition continues with a seek to its reader's position. If the reader takes longer than
 * `takeGraceMs` for a batch, only the batch's partition is paused. Heartbeats and the other partitions continue.
 */
export function createKafkajsGroupReader(options: KafkajsGroupReaderOptions): GroupReader & { close(): Promise<void> } {
  const closing = new AbortController();
  const leaving = new Set<Promise<void>>();
  return {
    async run(request) {
      const signal = AbortSignal.any([request.signal, closing.signal]);
      signal.throwIfAborted();
      const stalled = new StallWatch(joinLimits(options.tuning).stallMs, options.clock);
      const over = new AbortController();
      const untilOver = { ...request, signal: AbortSignal.any([signal, over.signal]) };
      const member = openMember(options, untilOver, () => stalled.moved());
      try {
        return await untilAborted(member.failed, AbortSignal.any([signal, stalled.signal]));
      } catch (cause) {
        member.end(signal.aborted ? signal.reason : cause);
        signal.throwIfAborted();
        if (cause instanceof OwnerFailed) throw cause.cause;
        throw memberFailed(cause, request);
      } finally {
        stalled.end();
        over.abort();
        const left = member.leave();
        leaving.add(left);
        await left.finally(() => leaving.delete(left));
      }
    },
    async close() {
      closing.abort(new ConnectorError('KAFKA_UNREACHABLE', 'The connection to Kafka was closed while reading.'));
      await Promise.allSettled(leaving);
    },
  };
}

/** Wraps the error of `assigned` or `take` as its cause. The caller of `run` gets the wrapped error. */
class OwnerFailed extends Error {}

interface Member {
  /** Rejects when the member fails; never resolves. */
  readonly failed: Promise<never>;
  end(reason: unknown): void;
  leave(): Promise<void>;
}

function openMember(options: KafkajsGroupReaderOptions, request: GroupReaderOptions, onConfirmed: () => void): Member {
  const { kafkajs, kafka, tuning, clock, log } = options;
  const { groupId, assigned, joined, members, assignor, alone, signal } = request;
  const joinAnswered = new AbortController();
  const proof = createOwnershipProof();
  const consumer = consumerOf(options, request, proof);
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  const held = new HeldPartitions({
    assigned,
    ...(joined && { joined }),
    ownershipProof: proof.since,
    fetcher: fetcherOf(consumer, log),
    failed: (cause) => failed.reject(new OwnerFailed('the owner of a partition failed', { cause })),
  });
  const offer = async (partition: TopicPartition, batch: ReadBatch) => {
    const late = () => new Error('the batch is still being taken');
    const taken = held.offer(partition, batch);
    await within(taken, tuning.takeGraceMs, clock, late).catch(() => held.pauseUntilTaken(partition));
  };
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    joinAnswered.abort();
    onConfirmed();
    held.rejoin(listed(payload.memberAssignment));
    proof.confirm(clock.monotonicMs() - Math.max(0, payload.duration));
  });
  if (members) reportMemberCount({ kafkajs, consumer, members, proof, tuning, clock, log, signal });
  confirmAtHeartbeats(consumer, clock, (askedAtMs) => {
    proof.confirm(askedAtMs);
    // Only a heartbeat or a join resets the stall watch, not a fetch. If the wall clock is set back by an hour, kafkajs
    // still fetches, but sends no heartbeat for an hour. Without heartbeats, the member may not write, so it must fail.
    onConfirmed();
  });
  // After a crash, kafkajs does not restart this consumer (`restartOnFailure`). So the member fails.
  consumer.on(consumer.events.CRASH, ({ payload }) => failed.reject(payload.error));
  let isKnown = false;
  consumer.on(consumer.events.REQUEST, ({ payload }) => {
    // The response to the first JoinGroup contains the member's id. kafkajs then joins at once with this id.
    if (payload.apiName === 'JoinGroup') isKnown = true;
  });
  const own = alone ?? (assignor && assignmentOfOne(assignor));
  const goAhead = async () => {
    if (own === undefined) return;
    await headStart({
      open: () => groupQuestions(kafka, groupId, tuning),
      take: () => held.rejoin(own),
      confirm: proof.confirm,
      isKnown: () => isKnown,
      everyMs: tuning.confirmIntervalMs,
      patienceMs: tuning.headStartMs,
      clock,
      signal: joinAnswered.signal,
    }).catch((error) => log.debug({ groupId, reason: kafkaReason(error) }, 'the member waits for its join'));
  };
  const running = consume(consumer, request.topics, { goAhead, offer, isOver: () => joinAnswered.signal.aborted });
  running.catch(failed.reject);
  return {
    failed: failed.promise,
    end(reason) {
      joinAnswered.abort();
      held.end(reason);
    },
    leave: () => leave(consumer, running, options, groupId),
  };
}

function consumerOf(
  { kafkajs, kafka, tuning, clock }: KafkajsGroupReaderOptions,
  { groupId, assignor }: GroupReaderOptions,
  proof: OwnershipProof,
): Consumer {
  // A member that was frozen for a session timeout has lost its partitions, and must not claim them at its next join.
  const wasForgotten = () => !proof.holdsSince(clock.monotonicMs() - tuning.groupSessionTimeoutMs);
  return kafka.consumer({
    groupId,
    sessionTimeout: tuning.groupSessionTimeoutMs,
    rebalanceTimeout: joinLimits(tuning).rebalanceMs,
    heartbeatInterval: Math.min(
      tuning.confirmIntervalMs - CLOCK_SLACK_MS,
      Math.floor(tuning.groupSessionTimeoutMs / 3),
    ),
    maxWaitTimeInMs: tuning.confirmIntervalMs,
    maxBytes: FETCH_BYTES,
    maxBytesPerPartition: FETCH_BYTES_PER_PARTITION,
    ...(assignor && { partitionAssigners: [kafkajsAssignor(kafkajs, assignor, wasForgotten)] }),
    allowAutoTopicCreation: false,
    retry: { ...kafkajsRetry(tuning), restartOnFailure: async () => false },
  });
}

interface Consuming {
  readonly goAhead: () => Promise<void>;
  readonly offer: (partition: TopicPartition, batch: ReadBatch) => Promise<void>;
  readonly isOver: () => boolean;
}

/** Starts the consumer. Resolves after the response to the join. */
async function consume(consumer: Consumer, topics: readonly string[], { goAhead, offer, isOver }: Consuming) {
  consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload }) => {
    // A batch that contains only control records and aborted records reaches no handler, but it moves the offset.
    if (payload.batchSize === 0) void offer(payload, readBatch([], payload.lastOffset, payload.highWatermark));
  });
  await consumer.connect();
  await consumer.subscribe({ topics: [...topics], fromBeginning: true });
  await goAhead();
  // A member that has ended must not join: it cannot leave before the response, and other members would wait for it.
  if (isOver()) return;
  await consumer.run({
    autoCommit: false,
    eachBatchAutoResolve: false,
    partitionsConsumedConcurrently: MAX_PARTITIONS_AT_ONCE,
    async eachBatch({ batch, resolveOffset, isStale }: EachBatchPayload) {
      if (isStale()) return;
      // The offset is resolved at once, because after another join kafkajs perhaps no longer knows the partition.
      resolveOffset(batch.lastOffset());
      const { topic, partition, messages } = batch;
      const records = messages.map((message) => committedRecord(topic, partition, message));
      await offer(batch, readBatch(records, batch.lastOffset(), batch.highWatermark));
    },
  });
}

async function leave(
  consumer: Consumer,
  running: Promise<void>,
  { tuning, clock, log }: KafkajsGroupReaderOptions,
  groupId: string,
): Promise<void> {
  const left = async () => {
    // A consumer that is still connecting would connect again after a disconnect.
    await running.catch(() => {});
    await consumer.disconnect();
  };
  await within(left(), tuning.disconnectMs, clock, () => new Error('kafkajs still waits for responses')).catch(
    (error) =>
      log.debug({ groupId, reason: kafkaReason(error) }, 'the broker did not answer when the member left the group'),
  );
}

/**
 * Confirms the time at which each heartbeat was sent. The event HEARTBEAT has no time, but the preceding event REQUEST
 * has the duration of the request. The duration is negative if the wall clock was set back.
 */
function confirmAtHeartbeats(consumer: Consumer, clock: Clock, confirm: (askedAtMs: number) => void): void {
  let askedAtMs = Number.NEGATIVE_INFINITY;
  consumer.on(consumer.events.REQUEST, ({ payload }) => {
    if (payload.apiName === 'Heartbeat') askedAtMs = clock.monotonicMs() - Math.max(0, payload.duration);
  });
  consumer.on(consumer.events.HEARTBEAT, () => confirm(askedAtMs));
}

function groupQuestions(kafka: Kafka, groupId: string, tuning: KafkaTuning): GroupQuestions {
  const admin = kafka.admin({ retry: kafkajsRetry(tuning) });
  const connected = admin.connect();
  return {
    async describe() {
      await connected;
      const { groups } = await admin.describeGroups([groupId]);
      const [group] = groups;
      if (group === undefined) throw new Error(`the group ${groupId} was not described`);
      return group;
    },
    close: () => void connected.then(() => admin.disconnect()).catch(() => {}),
  };
}

/** After a crash, kafkajs' consumer has no group, and its functions throw. These errors are only logged. */
function fetcherOf(consumer: Consumer, log: Log): PartitionFetcher {
  const unlessGone = (action: () => void) => {
    try {
      action();
    } catch (error) {
      log.debug({ reason: kafkaReason(error) }, 'no effect: the consumer has crashed');
    }
  };
  return {
    pause: (partitions) =>
      unlessGone(() => consumer.pause(partitions.map(({ topic, partition }) => ({ topic, partitions: [partition] })))),
    readFrom: ({ topic, partition }, offset) =>
      unlessGone(() => {
        consumer.seek({ topic, partition, offset: String(offset) });
        consumer.resume([{ topic, partitions: [partition] }]);
      }),
  };
}

function readBatch(records: ReadBatch['records'], lastOffset: string, highWatermark: string): ReadBatch {
  return { records, nextOffset: BigInt(lastOffset) + 1n, endOffset: BigInt(highWatermark) };
}

type Kafkajs = typeof import('kafkajs');

const VERSION = 1;

function kafkajsAssignor(
  { AssignerProtocol }: Kafkajs,
  assignor: Assignor,
  wasForgotten: () => boolean,
): PartitionAssigner {
  const { MemberMetadata, MemberAssignment } = AssignerProtocol;
  const { name } = assignor;
  return () => ({
    name,
    version: VERSION,
    protocol: ({ topics }) => ({
      name,
      metadata: MemberMetadata.encode({
        version: VERSION,
        topics,
        userData: Buffer.from(assignor.describe(wasForgotten())),
      }),
    }),
    assign: async ({ members }) => {
      const described = members.map(({ memberId, memberMetadata }) => {
        return { id: memberId, description: String(MemberMetadata.decode(memberMetadata)?.userData ?? '') };
      });
      const shares = assignor.assign(described);
      return members.map(({ memberId }) => {
        const assignment = Object.groupBy(shares.get(memberId) ?? [], ({ topic }) => topic);
        return {
          memberId,
          memberAssignment: MemberAssignment.encode({
            version: VERSION,
            assignment: Object.fromEntries(
              Object.entries(assignment).map(([topic, held = []]) => [topic, held.map(({ partition }) => partition)]),
            ),
            userData: Buffer.alloc(0),
          }),
        };
      });
    },
  });
}
