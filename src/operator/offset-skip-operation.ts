import { createNotificationEncoder } from '../avro/notification-encoder.ts';
import { readSchemaText } from '../avro/schema-files.ts';
import type { SourceSettings } from '../config/settings.ts';
import type { FollowedStream } from '../connector/tasks/followed-stream.ts';
import { ConnectorError } from '../errors.ts';
import type { HttpClient } from '../http/client.ts';
import type { HttpResponse } from '../http/http-response.ts';
import type { SourceOffset, StoredOffset } from '../kafka/offset-store.ts';
import { keyedRecord } from '../kafka/target-topic.ts';
import { nextEventOffset, probableNext } from '../provider/page-link.ts';
import { nextCheckOffset } from '../provider/pre-trade-checks.ts';
import { createReferenceDataHttp } from '../setup/provider-client.ts';
import { createRegistry } from '../setup/registry-client.ts';
import { silentLog } from '../support/log.ts';
import { systemRandom } from '../support/system-random.ts';
import type { Installation } from './installation.ts';
import { movedOffset } from './offset-set-operation.ts';
import { changeOffset, type OffsetChange } from './offsets-operation.ts';
import { patiently } from './patient-request.ts';
import { problemAt, type SmallestSteps, type Unreadable, unreadableFrom } from './unreadable-positions.ts';
import { unregisteredChecks, unregisteredInstruments } from './unregistered-provider.ts';
import { assertForm } from './usable-offset.ts';

/** Where a source shall go on: behind what cannot be read, at an offset of the provider, or where the stream starts now. */
export type SkipTarget = 'behind' | 'newest' | { readonly since: string };

/** A part of the stream that cannot be read, and where the source would go on. */
export interface OffsetSkip {
  /** Why the response at the committed offset cannot be read; null when it can, so that nothing is skipped. */
  readonly problem: string | null;
  /** Why a response with as many events as the source asks for cannot be read, where the next event can; else null. */
  readonly later: string | null;
  readonly from: string | null;
  readonly to: string | null;
  /** How many responses in a row cannot be read, of one event each; null where the place to go on was given. */
  readonly positions: number | null;
  readonly change: OffsetChange;
}

/**
 * Lets a source go on behind a position of its stream whose response can never be read. The position is asked for again
 * first, one event at a time: where that can be read, nothing is skipped. The source goes on behind the events that cannot
 * be read, whose responses name the next offset, and no further; or at a given place, once that was seen to be readable.
 * What is skipped is lost, and a notification in the transaction of the new offset says so, from when to when and between
 * which offsets. Instruments are walked again.
 *
 * @throws ConnectorError OFFSET_NOT_FOUND when nothing is committed, the form of the offset is wrong, or the unreadable
 *   response does not show where it ends; what the provider answers at the place to go on from; and as `changeOffset` does.
 */
export async function skipPosition(
  at: Installation,
  request: { readonly source: SourceSettings; readonly to: SkipTarget; readonly execute: boolean },
): Promise<OffsetSkip> {
  const { settings, clock, signal } = at;
  const { source, to: target, execute } = request;
  if (typeof target === 'object') assertForm(source, target.since);
  const planned = await changeOffset(at, { source, execute: false }, () => undefined);
  const { offset } = planned.before;
  if (offset === null) {
    throw new ConnectorError('OFFSET_NOT_FOUND', `Source ${source.name} has no committed offset to go on from.`);
  }
  const from = typeof offset.since === 'string' ? offset.since : null;
  const http = await createReferenceDataHttp(settings.referenceData, { clock, random: systemRandom, log: silentLog });
  try {
    const { stream, whole, steps } = streamOf(at, source, http);
    const found = await unreadableFrom(steps, from, at);
    const nothing = { problem: null, later: null, from, to: null, positions: null, change: planned };
    if (found === null) {
      return { ...nothing, later: await problemAt(whole.after, from, at) };
    }
    const { problem } = found;
    const place = target === 'behind' ? behind(found, from) : target;
    const { since: to, receivedMs } = await placeToGoOn(at, stream, place);
    const plan = { problem, later: null, from, to, positions: target === 'behind' ? found.positions : null };
    if (!execute) return { ...plan, change: planned };
    const skipped = { source, from, to, receivedMs, problem };
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
    return { ...plan, change };
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
    const registry = await createRegistry(settings.schemaRegistry, { clock, log: silentLog });
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
    lost: `${what} after the first offset, up to and with the second${healed}`,
  };
}

interface SkippedStream {
  /** In the smallest steps. */
  readonly stream: FollowedStream<unknown>;
  /** As the source asks for it. */
  readonly whole: FollowedStream<unknown>;
  readonly steps: SmallestSteps;
}

/** Pre-trade checks have no parameter for the size of a response. */
function streamOf({ settings, clock }: Installation, source: SourceSettings, http: HttpClient): SkippedStream {
  const edgesOf = ({ arrived }: HttpResponse) => arrived();
  if (source.type === 'pre-trade-checks') {
    const { preTradeChecks, stream } = unregisteredChecks({ settings, http, clock });
    return {
      stream,
      whole: stream,
      steps: {
        read: stream.after,
        edges: (since, signal) => preTradeChecks.list(since, edgesOf, signal),
        nextOf: (edges) => probableNext(edges, (links) => nextCheckOffset(links, preTradeChecks.baseUrl)),
      },
    };
  }
  const ofSize = (maxEvents: number) => unregisteredInstruments({ settings, http, clock }, source, maxEvents);
  const { referenceData, provider: stream } = ofSize(1);
  return {
    stream,
    whole: ofSize(source.maxEvents).provider,
    steps: {
      read: stream.after,
      edges: (since, signal) => referenceData.events({ since: since ?? '', maxEvents: 1 }, edgesOf, signal),
      nextOf: (edges) => probableNext(edges, (links) => nextEventOffset(links, referenceData.baseUrl)),
    },
  };
}

function behind({ to, problem, positions }: Unreadable, from: string | null): { readonly since: string } {
  if (to !== null) return { since: to };
  const unread = positions > 1 ? `${positions} responses from ${from ?? 'the start'} on` : `The response at ${from}`;
  throw new ConnectorError(
    'OFFSET_NOT_FOUND',
    `${unread} cannot be read (${problem}), and the offset behind them is not shown. Ask the provider for it, and give it ` +
      'with --to. --to newest goes on where the stream starts now, and loses everything until then.',
  );
}

async function placeToGoOn(
  at: Installation,
  stream: FollowedStream<unknown>,
  wanted: 'newest' | { readonly since: string },
): Promise<{ readonly since: string; readonly receivedMs: number }> {
  const { clock, signal } = at;
  const parts = { clock, random: systemRandom, signal };
  const start = wanted === 'newest' ? await patiently(() => stream.start(signal), parts) : null;
  const since = wanted === 'newest' ? (start?.newest ?? start?.since ?? '') : wanted.since;
  const outcome = await patiently(() => stream.after(since, signal), parts);
  if (outcome.kind === 'stream') return { since, receivedMs: start?.time.dateMs ?? outcome.answer.time.dateMs };
  throw new ConnectorError('OFFSET_NOT_FOUND', `The provider refuses the offset ${since} (status ${outcome.status}).`);
}
