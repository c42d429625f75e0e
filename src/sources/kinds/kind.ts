import type { Settings, SourceSettings } from '../../config/settings.ts';
import type { LogReader } from '../../kafka/log-reader.ts';
import { parseReset, type SourceOffset } from '../../kafka/offset-store.ts';
import { RECORD_ALLOWANCE_BYTES, type TopicSpecification } from '../../kafka/topic.ts';
import type { TopicPlan } from '../../kafka/topic-plan.ts';
import type { Events } from '../../observe/events.ts';
import type { HttpClient } from '../../provider/http/client.ts';
import { createNotificationEncoder, type NotificationEncoder } from '../../records/avro/record-encoder.ts';
import type { SchemaRegistry } from '../../records/avro/registry.ts';
import { readSchemaText, type SchemaName } from '../../records/avro/schema-files.ts';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import type { Source } from '../offset-partition.ts';
import type { SourceTask } from '../source-worker.ts';
import { type ResetOffset, readFollowerOffset, readResetOffset } from '../stream/committed-stream.ts';
import { FollowerCore } from '../stream/follower-core.ts';
import type { FollowerSettings } from '../stream/follower-steps.ts';
import { type CoreTaskOptions, createFollowerTask, type FollowerRows } from '../tasks/core-task.ts';
import type { FollowedStream } from '../tasks/followed-stream.ts';
import type { WalkRequests } from '../wanted-states.ts';

/** All that distinguishes a type of source. */
export interface SourceKind<Own extends SourceSettings = SourceSettings> {
  /** The class in Kafka Connect's REST interface. */
  readonly connectorClass: string;
  readonly items: string;
  /** Walks keep instruments beside the stream. */
  readonly walks: boolean;
  /** `words`: for people; `areOrdered`: two offsets can be compared. */
  readonly offsets: { readonly words: string; readonly form: RegExp; readonly areOrdered: boolean };
  streamTopic(source: Own): string;
  /** @throws ConnectorError OFFSET_UNREADABLE, FILTER_CHANGED. */
  readOffset(source: Own, committed: SourceOffset): { readonly since: string | null };
  /** After an operator has moved the stream. `nowMs`: our own clock. */
  moved(source: Own, offset: SourceOffset, nowMs: number): SourceOffset;
  create(source: Own, context: SourceContext): Source['startTask'];
}

export interface SourceContext {
  readonly settings: Settings;
  readonly topics: SourceTopics;
  readonly logReader: LogReader;
  readonly http: HttpClient;
  readonly registry: SchemaRegistry;
  readonly walkRequests: WalkRequests;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: Events;
}

export interface SourceTopics {
  readonly shared: TopicPlan;
  named(role: keyof TopicPlan, name: string): TopicSpecification;
  maxMessageBytes(topic: TopicSpecification): number;
}

interface Registered {
  readonly schema: string;
  readonly schemaId: number;
}

interface Mapping {
  readonly onMismatch: Settings['mapping']['onMismatch'];
  readonly maxValueBytes: number;
  readonly clock: Clock;
}

/** The first call registers the schemas; a failed one is repeated by the next call. */
export type WithSchemas<Decoders> = (
  signal: AbortSignal,
) => Promise<{ readonly decoders: Decoders; readonly notifications: NotificationEncoder }>;

/** `written`: the topic of each schema. */
export function withSchemas<Name extends SchemaName, Decoders>(
  { name }: SourceSettings,
  { settings, topics, registry, clock, events }: SourceContext,
  written: Readonly<Record<Name, TopicSpecification>>,
  create: (schemas: Readonly<Record<Name, Registered>>, mapping: Mapping) => Decoders,
): WithSchemas<Decoders> {
  const targets = Object.entries(written) as [Name, TopicSpecification][];
  const limitBytes = Math.min(...targets.map(([, topic]) => topics.maxMessageBytes(topic)));
  const { onMismatch } = settings.mapping;
  const mapping = { onMismatch, maxValueBytes: limitBytes - RECORD_ALLOWANCE_BYTES, clock };
  const registered = async (schemaName: SchemaName, topic: TopicSpecification, signal: AbortSignal) => {
    const schema = readSchemaText(schemaName);
    return { schema, schemaId: await registry.schemaId(`${topic.name}-value`, schema, signal) };
  };
  let made: Awaited<ReturnType<WithSchemas<Decoders>>> | undefined;
  return async (signal) => {
    if (made !== undefined) return made;
    const [notification, ...own] = await Promise.all([
      registered('Notification', topics.shared.notifications, signal),
      ...targets.map(async ([name, topic]) => [name, await registered(name, topic, signal)] as const),
    ]);
    // Of two calls at once, the first one serves both.
    if (made === undefined) {
      const schemas = Object.fromEntries(own) as Record<Name, Registered>;
      made = { decoders: create(schemas, mapping), notifications: createNotificationEncoder(notification) };
      events.schemasRegistered({ source: name });
    }
    return made;
  };
}

export function createCoreSource<Offset>(
  source: SourceSettings,
  { topics, clock, random, events }: SourceContext,
  parts: {
    readonly schemas: WithSchemas<unknown>;
    readOffset(committed: SourceOffset): Offset;
    /** `committed`: null for none. `reset`: the offset from before a reset. */
    startTask(
      options: CoreTaskOptions,
      committed: Offset | null,
      reset: ResetOffset | null,
      topicIds: ReadonlyMap<string, string>,
    ): SourceTask;
  },
): Source['startTask'] {
  const options: CoreTaskOptions = {
    source: source.name,
    notifications: topics.shared.notifications,
    encodeNotification: async (content, signal) => (await parts.schemas(signal)).notifications.encode(content),
    events,
    clock,
    random,
  };
  return (committed, topicIds) => {
    const before = committed && parseReset(committed);
    const offset = committed && !before ? parts.readOffset(committed) : null;
    return parts.startTask(options, offset, before && readResetOffset(before), topicIds);
  };
}

export function createFollowedSource<Row>(
  source: SourceSettings,
  context: SourceContext,
  parts: FollowerRows<Row> & {
    readonly schemas: WithSchemas<unknown>;
    readonly filter: string;
    readonly begins: FollowerSettings['begins'];
    readonly stream: FollowedStream<Row>;
    readonly endpoint: string;
  },
): Source['startTask'] {
  const { filter, begins, stream, endpoint } = parts;
  const expected = { source: source.name, filter, mayLackSince: begins === 'withoutOffset' };
  return createCoreSource(source, context, {
    schemas: parts.schemas,
    readOffset: (committed) => readFollowerOffset(committed, expected),
    startTask(options, offset, reset) {
      const core = new FollowerCore({ ...source, filter, begins }, offset, context.clock.monotonicMs(), reset);
      return createFollowerTask({ ...options, core, stream, endpoint }, parts);
    },
  });
}
