import { Readable } from 'node:stream';
import type { Settings, SourceSettings } from '../../config/settings.ts';
import { ConnectorError } from '../../errors.ts';
import type { LogReader } from '../../kafka/log-reader.ts';
import type { SourceOffset } from '../../kafka/offset-store.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { RECORD_ALLOWANCE_BYTES, type TopicSpecification } from '../../kafka/topic.ts';
import type { TopicPlan } from '../../kafka/topic-plan.ts';
import type { Events } from '../../observe/events.ts';
import type { BodyEdges } from '../../provider/http/body-chunks.ts';
import type { HttpClient } from '../../provider/http/client.ts';
import type { HttpResponse } from '../../provider/http/http-response.ts';
import { probableNext } from '../../provider/page-link.ts';
import { type EncodeNotification, notificationEncoder } from '../../records/avro/record-encoder.ts';
import type { SchemaRegistry } from '../../records/avro/registry.ts';
import { readSchemaText, type SchemaName } from '../../records/avro/schema-files.ts';
import type { Random } from '../../support/back-off.ts';
import type { Clock } from '../../support/clock.ts';
import type { SourceTask } from '../source-worker.ts';
import type { FollowerOffset, ResetOffset } from '../stream/committed-stream.ts';
import { FollowerCore } from '../stream/follower-core.ts';
import type { FollowerSettings } from '../stream/follower-steps.ts';
import type { ResponseTime } from '../stream/response-time.ts';
import { type CoreTaskOptions, createFollowerTask, type FollowerRows } from '../tasks/core-task.ts';
import type { FollowedStream } from '../tasks/followed-stream.ts';
import type { WalkRequests } from '../wanted-states.ts';

/** One type of source in the settings: instruments, events or pre-trade checks. */
export interface SourceKind<Own extends SourceSettings = SourceSettings, Offset extends AnyOffset = AnyOffset> {
  /** The class in Kafka Connect's REST interface. */
  readonly connectorClass: string;
  /** True if the source also walks: it reads the whole instrument list regularly, in addition to the stream. */
  readonly walks: boolean;
  /** True: the source's dead letters have no value. So `dead-letters retry` requests the item from the provider. */
  readonly hidesInput: boolean;
  /** Tells operators how the source continues after a reset of its offset. */
  readonly afterReset: string;
  /** `form`: matches a valid offset; `words`: this form, for people; `areOrdered`: two offsets can be compared. */
  readonly offsets: { readonly words: string; readonly form: RegExp; readonly areOrdered: boolean };
  streamTopic(source: Own): string;
  /** @throws ConnectorError OFFSET_UNREADABLE, FILTER_CHANGED. */
  readOffset(source: Own, committed: SourceOffset): Offset;
  /** An operator has set `offset`. Returns the offset to commit. `now`: by the provider's clock and by ours. */
  moved(source: Own, offset: SourceOffset, now: Pick<ResponseTime, 'dateMs' | 'ownMs'>): SourceOffset;
  open(source: Own, context: SourceContext): OpenedSource<Offset>;
}

interface AnyOffset {
  readonly since: string | null;
}

/** Sends the requests of a source and makes records of the responses, for the source's task and for commands. */
export interface OpenedSource<Offset extends AnyOffset = AnyOffset> {
  readonly schemas: WithSchemas<unknown>;
  readonly stream: SkippableStream;
  /** Returns the records of at most `limit` rows. `from`: an instrument id or a stream offset; null: the start. */
  preview(from: string | null, limit: number, signal: AbortSignal): Promise<readonly OutgoingRecord[]>;
  /** Decodes a dead letter again. `headers`: the headers of the new records. */
  reread(letter: RejectedInput, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<RereadLetter>;
  tasks(context: TaskContext): SourceTasks<Offset>;
}

export interface SourceTasks<Offset extends AnyOffset = AnyOffset> {
  /** `committed`: null before the first commit. `reset`: the offset before an operator's reset, or null. */
  start(
    options: CoreTaskOptions,
    committed: Offset | null,
    reset: ResetOffset | null,
    topicIds: ReadonlyMap<string, string>,
  ): SourceTask;
}

export interface SkippableStream extends FollowedStream<unknown> {
  /** Requests the stream after `since`. Finds the next offset in the bytes of the response; null: none is found. */
  nextOf(since: string | null, signal: AbortSignal): Promise<string | null>;
}

export interface RejectedInput {
  /** The topic to which the record should have been written. */
  readonly topic: string;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: Buffer | null;
}

/** The new record. A text says why there is no new record. Null: the next walk reads the row again. */
export type RereadLetter = OutgoingRecord | string | null;

export interface SourceContext {
  readonly settings: Settings;
  readonly topics: {
    readonly shared: TopicPlan;
    named(role: keyof TopicPlan, name: string): TopicSpecification;
    maxMessageBytes(topic: TopicSpecification): number;
  };
  readonly http: HttpClient;
  readonly registry: SchemaRegistry;
  readonly clock: Clock;
  readonly events: Events;
}

export interface TaskContext {
  readonly logReader: LogReader;
  readonly walkRequests: WalkRequests;
  readonly random: Random;
}

export interface Registered {
  readonly schema: string;
  readonly schemaId: number;
}

export interface Mapping {
  readonly onMismatch: Settings['mapping']['onMismatch'];
  readonly maxValueBytes: number;
  readonly clock: Clock;
}

/** The first successful call registers the schemas. Later calls return the same decoders. */
export type WithSchemas<Decoders> = (
  signal: AbortSignal,
) => Promise<{ readonly decoders: Decoders; readonly encodeNotification: EncodeNotification }>;

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
    const [encodeNotification, ...own] = await Promise.all([
      notificationEncoder(registry, topics.shared.notifications, signal),
      ...targets.map(async ([name, topic]) => [name, await registered(name, topic, signal)] as const),
    ]);
    // If two calls run at the same time, both return the same decoders.
    if (made === undefined) {
      const schemas = Object.fromEntries(own) as Record<Name, Registered>;
      made = { decoders: create(schemas, mapping), encodeNotification };
      events.schemasRegistered({ source: name });
    }
    return made;
  };
}

export function openFollowed<Row>(
  source: SourceSettings,
  context: SourceContext,
  parts: FollowerRows<Row> &
    Pick<OpenedSource, 'schemas' | 'reread'> &
    Pick<SkippableStream, 'nextOf'> & {
      readonly filter: string;
      readonly begins: FollowerSettings['begins'];
      readonly stream: FollowedStream<Row>;
      readonly endpoint: string;
    },
): OpenedSource<FollowerOffset> {
  const { schemas, filter, begins, stream, endpoint, nextOf, reread } = parts;
  return {
    schemas,
    stream: { ...stream, nextOf },
    async preview(from, limit, signal) {
      return parts.records((await rowsFrom(stream, begins, from, signal)).slice(0, limit), {});
    },
    reread,
    tasks: () => ({
      start(options, offset, reset) {
        const core = new FollowerCore({ ...source, filter, begins }, offset, context.clock.monotonicMs(), reset);
        return createFollowerTask({ ...options, core, stream, endpoint }, parts);
      },
    }),
  };
}

/** @throws ConnectorError PROVIDER_REFUSED. */
export async function rowsFrom<Row>(
  stream: FollowedStream<Row>,
  begins: FollowerSettings['begins'],
  from: string | null,
  signal: AbortSignal,
): Promise<readonly Row[]> {
  const since = from ?? (begins === 'atGivenStart' ? (await stream.start(signal)).since : null);
  const outcome = await stream.after(since, signal);
  if (outcome.kind === 'stream') return outcome.answer.decoded.rows;
  if (from === null) throw outcome.err;
  const text = `The provider refused the offset (status ${outcome.status}): it has expired, or it is not an offset.`;
  throw new ConnectorError('PROVIDER_REFUSED', `${text} Use a newer offset as --from, or omit --from.`);
}

/** `ask` requests the stream after an offset. `read` returns the offset in the next link of the response. */
export function nextOfBytes(
  ask: (
    since: string | null,
    consume: (response: HttpResponse) => Promise<BodyEdges | null>,
    signal: AbortSignal,
  ) => Promise<BodyEdges | null>,
  read: Parameters<typeof probableNext>[1],
): SkippableStream['nextOf'] {
  return async (since, signal) => {
    const edges = await ask(since, ({ arrived }) => arrived(), signal);
    return edges && probableNext(edges, read);
  };
}

interface DecodedAgain {
  readonly kind: string;
  readonly pointer?: string;
  readonly reason?: string;
}

/** Decodes the item of a dead letter again. `recordsOf` returns the item's record first. */
export async function itemAgain<Row extends DecodedAgain>(
  { value, headers }: RejectedInput,
  listKey: string,
  decoder: { decode(body: AsyncIterable<Uint8Array>): Promise<{ readonly rows: readonly Row[] }> },
  recordsOf: (rows: readonly Row[]) => readonly OutgoingRecord[],
): Promise<RereadLetter> {
  if (value === null) return 'it does not contain the rejected input';
  if (Number(headers['spc-length']) !== value.length) return 'its input was cut';
  const { rows } = await decoder.decode(Readable.from([Buffer.from(`{"${listKey}":[`), value, Buffer.from(']}')]));
  const failure = rows.find(({ kind }) => kind === 'failure');
  if (failure?.pointer) return `it ${UNMAPPED} ${failure.pointer}: ${failure.reason}`;
  if (failure) return `it cannot be mapped: ${failure.reason}`;
  return recordsOf(rows)[0] ?? null;
}

export const UNMAPPED = 'cannot be mapped at';
