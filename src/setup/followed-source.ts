import { createNotificationEncoder, type NotificationEncoder } from '../avro/notification-encoder.ts';
import type { SchemaRegistry } from '../avro/registry.ts';
import { readSchemaText, type SchemaName } from '../avro/schema-files.ts';
import type { Settings, SourceSettings, SourceSettingsOf } from '../config/settings.ts';
import type { Source } from '../connector/offset-partition.ts';
import type { SourceTask } from '../connector/source-task.ts';
import { FollowerCore } from '../connector/stream/follower-core.ts';
import { readFollowerOffset } from '../connector/stream/follower-offset.ts';
import type { FollowerSettings } from '../connector/stream/follower-steps.ts';
import { type ResetOffset, readResetOffset } from '../connector/stream/reset-offset.ts';
import type { CoreTaskOptions } from '../connector/tasks/core-task.ts';
import type { FollowerTaskOptions } from '../connector/tasks/follower-task.ts';
import type { HttpClient } from '../http/client.ts';
import { offsetKey, parseReset, type SourceOffset } from '../kafka/offset-store.ts';
import { RECORD_ALLOWANCE_BYTES, type TopicSpecification } from '../kafka/topic.ts';
import type { ConnectorEvents } from '../observability/connector-events.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import { registeredOnce } from './registered-once.ts';

/** What a source that follows one stream is put together from. */
export interface FollowedSourceOptions {
  readonly source: SourceSettingsOf<'events' | 'pre-trade-checks'>;
  readonly settings: Settings;
  readonly topics: {
    /** Where the records of the stream go. */
    readonly target: TopicSpecification;
    readonly deadLetters: TopicSpecification;
    readonly notifications: TopicSpecification;
    /** The largest record that the target takes, in bytes. */
    readonly maxRecordBytes: number;
  };
  readonly http: HttpClient;
  readonly registry: SchemaRegistry;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: ConnectorEvents;
}

/** A source whose core decides: where it goes on from, and what its tasks have in common. */
export function createCoreSource<Offset>(
  options: Pick<FollowedSourceOptions, 'clock' | 'random' | 'events'> & {
    readonly source: SourceSettings;
    readonly topics: { readonly notifications: TopicSpecification };
  },
  parts: {
    readonly encoder: (signal: AbortSignal) => Promise<NotificationEncoder>;
    readOffset(committed: SourceOffset): Offset;
    /** `committed`: where it goes on from; null without one. `reset`: the offset from before a reset. */
    startTask(common: CoreTaskOptions, committed: Offset | null, reset: ResetOffset | null): SourceTask;
  },
): Source {
  const { source, topics, clock, random, events } = options;
  const common: CoreTaskOptions = {
    source: source.name,
    notifications: topics.notifications,
    encodeNotification: async (content, signal) => (await parts.encoder(signal)).encode(content),
    events,
    clock,
    random,
  };
  return {
    name: source.name,
    offsetKey: offsetKey(source.name, source.type),
    async prepare(signal) {
      await parts.encoder(signal);
    },
    startTask(committed) {
      const before = committed && parseReset(committed);
      const offset = committed && !before ? parts.readOffset(committed) : null;
      return parts.startTask(common, offset, before && readResetOffset(before));
    },
  };
}

/** A source that follows one stream. */
export function createFollowedSource(
  options: FollowedSourceOptions,
  stream: {
    readonly filter: string;
    readonly begins: FollowerSettings['begins'];
    readonly encoder: (signal: AbortSignal) => Promise<NotificationEncoder>;
    startTask(common: Omit<FollowerTaskOptions<never>, 'stream' | 'endpoint'>): SourceTask;
  },
): Source {
  const { source, clock } = options;
  const { filter, begins, encoder } = stream;
  const expected = { source: source.name, filter, mayLackSince: begins === 'withoutOffset' };
  return createCoreSource(options, {
    encoder,
    readOffset: (committed) => readFollowerOffset(committed, expected),
    startTask(common, offset, reset) {
      const core = new FollowerCore({ ...source, filter, begins }, offset, clock.monotonicMs(), reset);
      return stream.startTask({ ...common, core });
    },
  });
}

/** Everything of a stream that needs registered schemas: the decoder of its responses, and the encoder of notifications. */
export function registeredDecoder<Decoder>(
  { source, topics, registry, settings, clock, events }: FollowedSourceOptions,
  name: SchemaName,
  createDecoder: (options: {
    readonly schema: string;
    readonly schemaId: number;
    readonly onMismatch: Settings['mapping']['onMismatch'];
    readonly maxValueBytes: number;
    readonly clock: Clock;
  }) => Decoder,
): (signal: AbortSignal) => Promise<{ readonly decoder: Decoder; readonly notifications: NotificationEncoder }> {
  const schema = readSchemaText(name);
  const notification = readSchemaText('Notification');
  const { onMismatch } = settings.mapping;
  const maxValueBytes = topics.maxRecordBytes - RECORD_ALLOWANCE_BYTES;
  const idOf = (topic: TopicSpecification, text: string, signal: AbortSignal) =>
    registry.schemaId(`${topic.name}-value`, text, signal);
  return registeredOnce(
    async (signal) => {
      const [schemaId, notificationId] = await Promise.all([
        idOf(topics.target, schema, signal),
        idOf(topics.notifications, notification, signal),
      ]);
      return {
        decoder: createDecoder({ schema, schemaId, onMismatch, maxValueBytes, clock }),
        notifications: createNotificationEncoder({ schema: notification, schemaId: notificationId }),
      };
    },
    () => events.schemasRegistered({ source: source.name }),
  );
}
