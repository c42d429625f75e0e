import { createNotificationEncoder } from '../avro/notification-encoder.ts';
import { readSchemaText } from '../avro/schema-files.ts';
import type { SourceSettings } from '../config/settings.ts';
import type { FollowedStream } from '../connector/tasks/followed-stream.ts';
import { ConnectorError, type ErrorCode } from '../errors.ts';
import type { HttpClient } from '../http/client.ts';
import type { SourceOffset, StoredOffset } from '../kafka/offset-store.ts';
import { keyedRecord } from '../kafka/target-topic.ts';
import { createReferenceDataHttp } from '../setup/provider-client.ts';
import { createRegistry } from '../setup/registry-client.ts';
import { systemRandom } from '../support/system-random.ts';
import type { Installation } from './installation.ts';
import { movedOffset } from './offset-set-operation.ts';
import { changeOffset, type OffsetChange } from './offsets-operation.ts';
import { patiently } from './patient-request.ts';
import { unregisteredChecks, unregisteredInstruments } from './unregistered-provider.ts';
import { assertForm } from './usable-offset.ts';

const quiet = { debug() {}, info() {}, warn() {}, error() {} };
/** What says of a response that it cannot be read; any other error says nothing of the position. */
const UNREADABLE: ReadonlySet<ErrorCode> = new Set(['BODY_MALFORMED', 'BODY_TOO_LARGE', 'PROTOCOL_VIOLATION']);

/** A part of the stream that cannot be read, and where the source would go on. */
export interface OffsetSkip {
  /** Why the response at the committed offset cannot be read; null when it can, so that nothing is skipped. */
  readonly problem: string | null;
  readonly from: string | null;
  readonly to: string | null;
  readonly change: OffsetChange;
}

/**
 * Lets a source go on behind a position of its stream whose response can never be read. The position is asked for again
 * first: where the response can be read, nothing is skipped. The source goes on at the given offset, or where the stream
 * starts now, once that was seen to be readable. What is skipped is lost, and a notification in the transaction of the
 * new offset says so, from when to when and between which offsets. Instruments are walked again.
 *
 * @throws ConnectorError OFFSET_NOT_FOUND when nothing is committed, or the form of the offset is wrong; what the provider
 *   answers at the place to go on from; and as `changeOffset` does.
 */
export async function skipPosition(
  at: Installation,
  request: { readonly source: SourceSettings; readonly to: string | null; readonly execute: boolean },
): Promise<OffsetSkip> {
  const { settings, clock, signal } = at;
  const { source, execute } = request;
  if (request.to !== null) assertForm(source, request.to);
  const planned = await changeOffset(at, { source, execute: false }, () => undefined);
  const { offset } = planned.before;
  if (offset === null) {
    throw new ConnectorError('OFFSET_NOT_FOUND', `Source ${source.name} has no committed offset to go on from.`);
  }
  const from = typeof offset.since === 'string' ? offset.since : null;
  const http = await createReferenceDataHttp(settings.referenceData, { clock, random: systemRandom, log: quiet });
  try {
    const stream = streamOf(at, source, http);
    const problem = await problemAt(at, stream, from);
    if (problem === null) return { problem, from, to: null, change: planned };
    const { since: to, receivedMs } = await placeToGoOn(at, stream, request.to);
    const skipped = { source, from, to, receivedMs, problem };
    if (!execute) return { problem, from, to, change: planned };
    const encoder = await encoderOf(at);
    const change = await changeOffset(
      at,
      { source, execute },
      (stored) => (isAt(stored, from) ? movedTo(at, skipped, stored.offset) : undefined),
      (stored) => {
        const value = encoder.encode(contentOf(skipped, stored.offset ?? {}));
        return [keyedRecord(at.topics.notifications, source.name, value, {})];
      },
    );
    return { problem, from, to, change };
  } finally {
    await http.close();
  }

  function isAt(
    stored: StoredOffset,
    since: string | null,
  ): stored is StoredOffset & { readonly offset: SourceOffset } {
    // Another operator may have moved it meanwhile.
    return stored.offset !== null && (stored.offset.since ?? null) === since;
  }

  async function encoderOf({ topics }: Installation) {
    const registry = await createRegistry(settings.schemaRegistry, { clock, log: quiet });
    const schema = readSchemaText('Notification');
    return createNotificationEncoder({
      schema,
      schemaId: await registry.schemaId(`${topics.notifications.name}-value`, schema, signal),
    });
  }
}

interface Skipped {
  readonly source: SourceSettings;
  readonly from: string | null;
  readonly to: string;
  /** When the provider was asked for the place to go on from, by its clock. */
  readonly receivedMs: number;
  readonly problem: string;
}

function movedTo({ clock }: Installation, { source, to, receivedMs }: Skipped, offset: SourceOffset): SourceOffset {
  const place = { since: to, received: new Date(receivedMs).toISOString() };
  return movedOffset(source, offset, place, clock.wallMs());
}

function contentOf({ source, from, to, receivedMs, problem }: Skipped, offset: SourceOffset) {
  const healed = source.type === 'instruments' ? '; instruments are healed by the walks that follow' : '';
  const what = source.type === 'pre-trade-checks' ? 'pre-trade checks' : 'events';
  return {
    source: source.name,
    kind: 'stream-skipped',
    at: receivedMs,
    message: `An operator has skipped a part of the stream that could not be read. The ${what} in it are lost.`,
    gapFrom: typeof offset.serverDate === 'string' ? Date.parse(offset.serverDate) : null,
    gapTo: receivedMs,
    gapSinceFrom: from,
    gapSinceTo: to,
    why: problem,
    lost: `${what} between the two offsets${healed}`,
  };
}

/** The stream of a source as it asks for it. */
function streamOf(
  { settings, clock }: Installation,
  source: SourceSettings,
  http: HttpClient,
): FollowedStream<unknown> {
  if (source.type === 'pre-trade-checks') return unregisteredChecks({ settings, http, clock }).stream;
  return unregisteredInstruments({ settings, http, clock }, source, source.maxEvents).provider;
}

/** Why the response cannot be read, in two attempts: one may have been spoiled on its way. */
async function problemAt(
  { clock, signal }: Installation,
  stream: FollowedStream<unknown>,
  since: string | null,
): Promise<string | null> {
  const attempt = async () => {
    try {
      await stream.after(since, signal);
      // A refusal is no response that cannot be read: the source proves it, and heals the gap.
      return null;
    } catch (error) {
      if (error instanceof ConnectorError && UNREADABLE.has(error.code)) return `${error.code}: ${error.message}`;
      throw error;
    }
  };
  const parts = { clock, random: systemRandom, signal };
  return (await patiently(attempt, parts)) && (await patiently(attempt, parts));
}

async function placeToGoOn(
  { clock, signal }: Installation,
  stream: FollowedStream<unknown>,
  wanted: string | null,
): Promise<{ readonly since: string; readonly receivedMs: number }> {
  const parts = { clock, random: systemRandom, signal };
  const start = wanted === null ? await patiently(() => stream.start(signal), parts) : null;
  const since = wanted ?? start?.newest ?? start?.since ?? '';
  const outcome = await patiently(() => stream.after(since, signal), parts);
  if (outcome.kind === 'stream') return { since, receivedMs: start?.time.dateMs ?? outcome.answer.time.dateMs };
  throw new ConnectorError('OFFSET_NOT_FOUND', `The provider refuses the offset ${since} (status ${outcome.status}).`);
}
