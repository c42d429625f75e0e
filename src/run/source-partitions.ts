import { randomUUID } from 'node:crypto';
import type { Settings } from '../config/settings.ts';
import { ConnectorError, remedyOf } from '../errors.ts';
import { OperatorMarks, offsetPartition, readOffsets, type SourceOffset } from '../kafka/offset-store.ts';
import { keyedRecord } from '../kafka/record.ts';
import { partitionsOf, type TopicSpecification } from '../kafka/topic.ts';
import type { TopicPlan } from '../kafka/topic-plan.ts';
import type { Events } from '../observe/events.ts';
import { notificationEncoder } from '../records/avro/record-encoder.ts';
import { runOffsetPartition, type Source } from '../sources/offset-partition.ts';
import { describeReplica, sourceAssignor } from '../sources/source-assignor.ts';
import type { RequestedStates } from '../sources/wanted-states.ts';
import { type OwnedPartition, runMember } from '../worker/membership.ts';
import { createRunStates } from '../worker/run-states.ts';
import type { Context } from './context.ts';
import { placeOnTopic, type StreamPlace } from './stream-places.ts';
import type { VerifiedTopics } from './verified-topics.ts';

export interface SourcePartitions extends Pick<Context, 'kafka' | 'http' | 'registry' | 'clock' | 'random'> {
  readonly settings: Settings;
  readonly sources: readonly Source[];
  readonly states: RequestedStates;
  readonly topics: Pick<TopicPlan, 'offsets' | 'notifications'>;
  readonly writtenBy: (sources: readonly string[]) => readonly TopicSpecification[];
  readonly verified: VerifiedTopics;
  readonly events: Events;
  readonly signal: AbortSignal;
}

/**
 * Runs the sources of this replica, with one writer for each partition of the offsets topic. If Kafka refuses this
 * replica in the group, all sources count as failed until an operator restarts one of them.
 *
 * @returns the names of the sources, after all have failed in this replica; rejects with the signal's reason.
 */
export async function runSourcePartitions(parts: SourcePartitions): Promise<readonly string[]> {
  const { settings, sources, topics, signal } = parts;
  const notices = createFailureNotices({ ...parts, prefix: settings.prefix, topic: topics.notifications });
  const events: Events = {
    ...parts.events,
    sourceFailed(failure) {
      parts.events.sourceFailed(failure);
      notices.report(failure);
    },
  };
  const runStates = createRunStates<Source>({
    units: sources,
    targets: parts.states.targets,
    restsWhen: ['stopped'],
    onRest: () => {},
    onFailed: ({ name }, err) => events.sourceFailed({ source: name, err }),
  });
  try {
    for (;;) {
      try {
        return await runAsMember({ ...parts, events });
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ConnectorError) || error.action !== 'stopSource') throw error;
        for (const source of sources) if (runStates.isDue(source)) runStates.failed(source, error);
        if (!settings.admin.enabled) return sources.map(({ name }) => name);
        await runStates.untilAnyIsDue(signal);
      }
    }
  } finally {
    await notices.finished();
  }
}

/**
 * All replicas are members of one consumer group on the offsets topic. The owner of a partition runs the sources whose
 * offsets are on this partition. The group only assigns partitions: no record is read through the group.
 *
 * @returns the names of the sources, after all have failed in this replica; rejects if the membership ends.
 */
async function runAsMember(parts: SourcePartitions): Promise<readonly string[]> {
  const { settings, kafka, topics, http, clock, random, events } = parts;
  const byPartition = Map.groupBy(parts.sources, ({ offsetKey }) => offsetPartition(offsetKey));
  const keys = parts.sources.map(({ offsetKey }) => offsetKey);
  const failed = new Map<number, readonly string[]>();
  const allFailed = Promise.withResolvers<readonly string[]>();
  const over = new AbortController();
  let held: readonly number[] = [];
  const membership = runMember({
    groupReader: kafka.groupReader,
    groupId: `${settings.prefix}-sources`,
    topics: [topics.offsets.name],
    members: (count) => http.share(count),
    assignor: sourceAssignor(topics.offsets.name, (wasForgotten) =>
      describeReplica({ sources: keys, held: wasForgotten ? [] : held }),
    ),
    joined(partitions) {
      held = partitions.map(({ partition }) => partition);
      const sources = held.flatMap((partition) => byPartition.get(partition) ?? []).map(({ name }) => name);
      events.replicaJoined({ partitions: held, sources });
    },
    createTask: ({ partition: { partition }, ...owned }) => ({
      async run() {
        const sources = byPartition.get(partition);
        if (sources === undefined) return;
        // After this replica has lost the partition, another replica may run the sources. So the failures of the sources are forgotten.
        owned.signal.addEventListener('abort', () => failed.delete(partition), { once: true });
        failed.set(partition, await runPartition({ ...parts, ...owned, partition, sources }));
        if (failed.size === byPartition.size) allFailed.resolve([...failed.values()].flat());
      },
    }),
    attemptFailed(attempt) {
      held = [];
      events.attemptFailed({ part: 'replicas', ...attempt });
    },
    clock,
    random,
    signal: AbortSignal.any([parts.signal, over.signal]),
  });
  try {
    return await Promise.race([allFailed.promise, membership]);
  } finally {
    over.abort(new Error('this replica ends'));
    await membership.catch(() => {});
  }
}

function runPartition(
  parts: SourcePartitions & Pick<OwnedPartition, 'ownershipProof'> & { readonly partition: number },
): Promise<readonly string[]> {
  const { settings, kafka, states, topics, verified, partition, ownershipProof } = parts;
  const writtenBy = (some: readonly Source[]) => parts.writtenBy(some.map(({ name }) => name));
  const marks = new OperatorMarks();
  const transactionalId = `${settings.prefix}-sources-${partition}`;
  return runOffsetPartition({
    ...parts,
    transactionalId,
    offsetsTopic: topics.offsets.name,
    writtenBy: (source) => writtenBy([source]).map(({ name }) => name),
    createWriter(running) {
      const position = { topic: topics.offsets.name, partition };
      const abortHanging = () => [position, ...writtenBy(running()).flatMap(partitionsOf)];
      return kafka.transactionalWriter(transactionalId, {
        ownershipProof,
        abortHanging,
        excused: () => marks.drain(),
      });
    },
    topics: {
      areVerified: (source) => verified.areVerified([topics.offsets, ...writtenBy([source])]),
      verify: (source, verifying) => verified.verify([topics.offsets, ...writtenBy([source])], verifying),
      doubt: verified.doubt,
    },
    async verifyStart(source, starting) {
      const abortHanging = () => writtenBy([source]).flatMap(partitionsOf);
      // Each source has a separate transactional id, so that simultaneous verifications do not fence each other.
      const verifierId = `${transactionalId}-trial-${source.name}`;
      const verifier = kafka.transactionalWriter(verifierId, { ownershipProof, abortHanging });
      try {
        await verifier.open(async () => {}, starting);
      } finally {
        await verifier.close();
      }
    },
    async readOffsets(readSignal) {
      const offsets = readOffsets(kafka.logReader, topics.offsets.name, partition, readSignal, marks);
      return (await Promise.all([offsets, states.catchUp(readSignal)]))[0];
    },
    lostOffset: ({ name }, reading) => lostOffset({ kafka, settings, signal: reading }, name),
    targets: states.targets,
    waitsForOperator: settings.admin.enabled,
  });
}

/** Returns the newest place that the source's records name, as the mark of a reset. Null without records: the source is new. */
async function lostOffset(from: Parameters<typeof placeOnTopic>[0], name: string): Promise<SourceOffset | null> {
  const source = from.settings.sources.find((one) => one.name === name);
  if (source === undefined) return null;
  const newer = (one: StreamPlace, kept: StreamPlace | null) => one.timestampMs >= (kept?.timestampMs ?? 0);
  const { place } = await placeOnTopic(from, source, newer);
  return place && { reset: true, before: JSON.stringify({ since: place.since, serverDate: place.received }) };
}

/**
 * Writes notices of failed sources, each with a separate writer, because the source's writer may have failed. If a
 * notice cannot be written, the log still has the failure, and the source is not affected. Exported for tests.
 */
export function createFailureNotices(
  options: Pick<Context, 'kafka' | 'registry' | 'clock'> & {
    readonly prefix: string;
    readonly topic: TopicSpecification;
    readonly signal: AbortSignal;
  },
) {
  const { prefix, topic, kafka, registry, clock, signal } = options;
  const pending = new Set<Promise<void>>();

  async function write(source: string, error: ConnectorError, at: number): Promise<void> {
    const encode = await notificationEncoder(registry, topic, signal);
    const value = encode({
      source,
      kind: 'source-failed',
      at,
      message: `The source has stopped. ${error.message}`,
      why: `${remedyOf(error, source)} This notification has the time of the connector's clock.`,
      errorCode: error.code,
    });
    const writer = kafka.transactionalWriter(`${prefix}-admin-${randomUUID()}`);
    try {
      await writer.open(async () => {}, signal);
      await writer.commit({ records: [keyedRecord(topic, source, value, {})] });
    } finally {
      await writer.close();
    }
  }

  return {
    report({ source, err }: { readonly source: string; readonly err: unknown }): void {
      if (!(err instanceof ConnectorError)) return;
      const written = write(source, err, clock.wallMs()).catch(() => {});
      pending.add(written);
      written.finally(() => pending.delete(written));
    },
    async finished(): Promise<void> {
      await Promise.all(pending);
    },
  };
}
