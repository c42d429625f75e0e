import { ago, durationText } from '../admin/texts.ts';
import { SOURCE_WORDS } from '../config/groups/sources.ts';
import { type SourceSettings, topicOf } from '../config/settings.ts';
import { ConnectorError, type ErrorCode } from '../errors.ts';
import type { SourceOffset, StoredOffset } from '../kafka/offset-store.ts';
import { keyedRecord } from '../kafka/record.ts';
import { notificationEncoder } from '../records/avro/record-encoder.ts';
import { atInstallation, type Installation } from '../run/installation.ts';
import {
  changeOffset,
  type ListedOffset,
  listOffsets,
  type OffsetChange,
  resetOffset,
} from '../run/offsets-operation.ts';
import { plannedTopics } from '../run/planned-topics.ts';
import { createRegistry } from '../run/registry-client.ts';
import { placeOnTopic, type StreamPlace } from '../run/stream-places.ts';
import { kindOf } from '../sources/kinds/all.ts';
import type { SkippableStream } from '../sources/kinds/kind.ts';
import { RETENTION_MS, SUSPECTED_AGE_MS } from '../sources/stream/retention-gap.ts';
import { secondsToRetentionCliff } from '../sources/stream/stream.ts';
import { isBefore } from '../sources/stream/stream-response.ts';
import { committedWalkIntervalMs } from '../sources/walk/instruments-offset.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { silentLog } from '../support/log.ts';
import { knownSource, loadWholeSettings, loadWithoutProvider } from './command-settings.ts';
import { atProvider, type ProviderSession } from './provider-session.ts';
import { withoutControls } from './shell/describe-error.ts';
import { listTable, print, printable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

const NEEDS = ['offsets', 'states'] as const;

export async function offsetsList(context: CommandContext): Promise<void> {
  const settings = await loadWithoutProvider(context);
  const found = await atInstallation({ settings, signal: context.signal, needs: NEEDS }, listOffsets);
  const intervals = new Map(
    settings.sources.map((source) => [source.name, source.type === 'instruments' ? source.walkIntervalMs : null]),
  );
  const header = [
    'source',
    'type',
    'since',
    'stream read (committed)',
    'unread events stay for at most',
    'last walk',
    'next walk',
  ];
  const rows = found.map((one) => offsetRow(one, intervals.get(one.source) ?? null, systemClock.wallMs()));
  print(context, found, listTable(context.stdout, header, rows));
}

/** Exported for tests. */
export function offsetRow(
  { source, type, offset, problem, configured }: ListedOffset,
  intervalMs: number | null,
  nowMs: number,
): string[] {
  const name = [source, `${type ?? 'the key of another program'}${configured ? '' : ' (not enabled in the settings)'}`];
  if (offset === null) return [...name, problem ?? 'nothing is committed'];
  const dateOf = (key: string) => Date.parse(String(offset[key]));
  const now = new Date(nowMs).toISOString();
  const shown = (ms: number, text: (ms: number) => string) => (Number.isNaN(ms) ? '' : text(ms));
  const since = (ms: number) => ago(new Date(ms).toISOString(), now);
  const walkMs = dateOf(offset.walkStartedOwn === undefined ? 'walkStartedAt' : 'walkStartedOwn');
  // The connector may have other settings than this command, so the connector commits its walk interval too.
  const nextMs = walkMs + (committedWalkIntervalMs(offset) ?? intervalMs ?? Number.NaN) - nowMs;
  // Uses the time of our own clock, as the status does, because the provider's clock may be wrong.
  const ownMs = dateOf(offset.ownDate === undefined ? 'serverDate' : 'ownDate');
  const position = { serverDate: { ownMs }, standingMs: Number(offset.standingMs ?? 0) };
  const keptS = secondsToRetentionCliff({ servedMs: null }, position, { nowMs, wallMs: nowMs });
  return [
    ...name,
    String(offset.since ?? ''),
    shown(ownMs, since),
    shown(keptS, (seconds) => (seconds > 0 ? durationText(seconds) : 'perhaps lost in part')),
    shown(walkMs, (ms) =>
      offset.walkPending === true && (offset.walkCursor ?? null) === null
        ? `${offset.walk}, no page is written yet`
        : `${offset.walk}, begun ${since(ms)}${offset.walkPending === true ? ', not ended' : ''}`,
    ),
    offset.walkPending === true && offset.walkResumed === true
      ? 'after this walk'
      : shown(nextMs, (ms) => (ms > 0 ? `in ${durationText(ms / 1_000)}` : 'due')),
  ];
}

export async function offsetsReset(
  context: CommandContext,
  { execute }: { readonly execute: boolean },
  name: string,
): Promise<void> {
  const { stderr, signal } = context;
  const settings = await loadWithoutProvider(context);
  const source = knownSource(context, name, settings.sources);
  const change = await atInstallation({ settings, signal, needs: NEEDS }, (at) => resetOffset(at, { source, execute }));
  const { before, done } = change;
  const { offset, problem } = before;
  const members = offset === null ? [] : ['since', 'serverDate'].map((key) => `${key}: ${offset[key]}\n`);
  print(context, before, withoutControls(problem === null ? members.join('') : `${problem}\n`));
  if (before.offset === null && before.problem === null) {
    stderr.write(`Source ${name} has no committed offset: there is nothing to reset.\n`);
    return;
  }
  if (execute && !done) throw new Error(`The offset of source ${name} was not deleted.`);
  stderr.write(`${resetText(source, done)}${besidesText(change)}\n`);
}

/** Exported for tests. */
export function resetText(source: Pick<SourceSettings, 'name' | 'type'>, done: boolean): string {
  const { name } = source;
  const what = done
    ? `The offset of source ${name} was deleted.`
    : `Nothing was changed. --execute deletes the offset of source ${name}.`;
  return `${what} After spconnect resume ${name}: ${kindOf(source).afterReset} All records on the topics stay.`;
}

function besidesText({ isStopped, besides, before }: OffsetChange): string {
  const stop = isStopped ? '' : ` Stop the source first: spconnect stop ${before.source}.`;
  const others = ` The other sources on partition ${before.partition} continue: ${besides.join(', ')}.`;
  return `${stop}${besides.length === 0 ? '' : others}`;
}

export async function offsetsSet(
  context: CommandContext,
  { since, to, execute }: { readonly since?: string; readonly to?: number; readonly execute: boolean },
  name: string,
): Promise<void> {
  const { stderr, signal, refuse } = context;
  if (since === undefined && to === undefined) refuse('expected --since or --to');
  const settings = await loadWithoutProvider(context);
  const source = knownSource(context, name, settings.sources);
  refuseForm(context, source, '--since', since);
  const stream = topicOf(settings, kindOf(source).streamTopic(source));
  const needs = [...NEEDS, 'notifications' as const, ...plannedTopics(settings, [stream])];
  const { place, after, change } = await atInstallation({ settings, signal, needs }, async (at) => {
    const place = await (since === undefined ? placeAt(at, source, to ?? 0) : placeOf(at, source, since));
    return { place, ...(await moveStream(at, { source, execute }, place)) };
  });
  const { before } = change;
  const { walks } = kindOf(source);
  const from = before.offset?.since;
  const isAhead = typeof from === 'string' && isBefore(from, place.since);
  const furthest = before.offset?.againUpTo ?? from;
  const isLost = isAhead && typeof furthest === 'string' && isBefore(furthest, place.since);
  const items = `${SOURCE_WORDS[source.type].item}s`;
  const moved = ['since', 'serverDate'].map((key) => `${key}: ${before.offset?.[key]} -> ${after?.[key]}\n`);
  print(context, { source: name, before: before.offset, after }, withoutControls(moved.join('')));
  const sentences = [
    change.done ? `The offset of source ${name} was changed.` : 'Nothing was changed; --execute makes the change.',
    place.received === null
      ? 'No record has the time of this offset, so it counts as almost seven days old: the source will report a suspected gap' +
        `${walks ? ' and begin a walk' : ''}.`
      : `The source read from this offset at ${place.received}.`,
    isLost
      ? `All ${items} after ${furthest}, up to and including ${place.since}, are not read: they are lost.`
      : isAhead
        ? `The ${items} up to and including ${place.since} were read before, and are not read again.${
            typeof furthest === 'string' && isBefore(place.since, furthest)
              ? ` The ${items} after it, up to and including ${furthest}, come again, and no notification reports them.`
              : ''
          }`
        : `The ${items} that the source read after it come again, and no notification reports them.`,
    ...(place.oldestOf === null ? [] : [`${place.oldestOf} has no earlier record of it; --since can go back further.`]),
    ...(change.done ? [`The source continues from this offset when it is resumed (spconnect resume ${name}).`] : []),
  ];
  stderr.write(withoutControls(`${sentences.join(' ')}${besidesText(change)}\n`));
}

function refuseForm(
  { refuse }: CommandContext,
  source: SourceSettings,
  option: string,
  given: string | undefined,
): void {
  const { form, words } = kindOf(source).offsets;
  if (given !== undefined && !form.test(given)) refuse(`found ${option} ${printable(given)}; expected ${words}`);
}

type Place = Pick<StreamPlace, 'since' | 'received'>;

/**
 * Moves the committed offset to a place in the stream. Without `execute`, only computes the new offset. If `from` is
 * given and another offset is committed, moves nothing.
 *
 * @throws ConnectorError OFFSET_UNREADABLE; OFFSET_NOT_FOUND if nothing is committed; or an error of `changeOffset`.
 */
async function moveStream(
  at: Installation,
  request: { readonly source: SourceSettings; readonly execute: boolean },
  place: Place,
  more: {
    readonly from?: string | null;
    readonly notices?: Parameters<typeof changeOffset>[3];
  } = {},
) {
  let after: SourceOffset | undefined;
  const move = (offset: SourceOffset | null, problem: string | null): SourceOffset | undefined => {
    if (offset === null) throw nothingCommitted(request.source, problem);
    // With `from`, the provider has shown the place.
    if (more.from === undefined) assertKept(request.source, offset, place, at.clock.wallMs());
    const isThere = more.from === undefined || (offset.since ?? null) === more.from;
    after = isThere ? movedOffset(at.clock, request.source, offset, place) : undefined;
    return after;
  };
  const moveStored = ({ offset, error }: StoredOffset) => move(offset, error?.message ?? null);
  const change = await changeOffset(at, request, moveStored, more.notices);
  if (!request.execute) move(change.before.offset, change.before.problem);
  return { after, change };
}

/**
 * An offset that no record has may be no offset of the provider, or after its newest offset: then new items would be
 * lost. The provider no longer has the items after an older offset: then the source would go on at the newest offset.
 */
function assertKept(source: SourceSettings, { since, againUpTo }: SourceOffset, place: Place, nowMs: number): void {
  if (place.received !== null && nowMs - Date.parse(place.received) > RETENTION_MS) {
    throw notFound(
      `The source read from the offset ${place.since} at ${place.received}, more than seven days ago. The provider no longer ` +
        'has the items after it, so the source would lose all items up to its newest offset.',
    );
  }
  const furthest = againUpTo ?? since;
  if (place.received !== null || typeof furthest !== 'string' || furthest === place.since) return;
  if (isBefore(place.since, furthest)) return;
  throw notFound(
    `No record of source ${source.name} has the offset ${place.since}, and it is not before the furthest offset ${furthest}. ` +
      'A source that continues there could lose items.',
  );
}

/**
 * Moves an offset to another place in the stream. The provider keeps events for seven days, so `received` shows if the
 * events after this place still exist. With an unknown date, the source reports a suspected gap, but not a certain gap. Walks
 * must follow, because skipped events are missing, and repeated events change no instrument. Exported for tests.
 */
export function movedOffset(
  clock: Pick<Clock, 'wallMs'>,
  source: SourceSettings,
  offset: SourceOffset,
  { since, received }: Place,
): SourceOffset {
  // A suspected gap and a held offset belong to the earlier place, so they end.
  const nothing = { standingMs: 0, standingLeastMs: 0, gapSuspectedFrom: null, heldSince: null, heldMs: null };
  const nowMs = clock.wallMs();
  const date = received ?? new Date(nowMs - SUSPECTED_AGE_MS).toISOString();
  // Repeated events up to `furthest` change no instrument, so no instrument gets an older state.
  const furthest = offset.againUpTo ?? offset.since;
  const known = kindOf(source).offsets.areOrdered && typeof furthest === 'string' ? furthest : null;
  const isAgain = known !== null && isBefore(since, known);
  const again = { againUpTo: isAgain ? known : null, againFrom: isAgain ? new Date(nowMs).toISOString() : null };
  const moved = { ...offset, since, serverDate: date, ownDate: date, ...nothing, ...again };
  // The last response showed by how much the provider's clock differs from ours.
  const [providerMs, ownMs] = [Date.parse(String(offset.serverDate)), Date.parse(String(offset.ownDate))];
  const aheadMs = Number.isNaN(providerMs - ownMs) ? 0 : providerMs - ownMs;
  return kindOf(source).moved(source, moved, { dateMs: nowMs + aheadMs, ownMs: nowMs });
}

/**
 * Finds the first record that the source wrote at this time or later. Returns the offset of the request that got this
 * record: its event and all later events follow this offset. `isOldest`: the topic has no earlier record of the source.
 */
async function placeAt(at: Installation, source: SourceSettings, atMs: number) {
  let isOldest = true;
  const { topic, place } = await firstPlace(at, source, ({ timestampMs }) => {
    if (timestampMs < atMs) isOldest = false;
    return timestampMs >= atMs;
  });
  if (place !== null) return { ...place, oldestOf: isOldest ? topic : null };
  const time = new Date(atMs).toISOString();
  const text = `${topic} has no record of source ${source.name} since ${time}`;
  throw notFound(`${text}: unless records were deleted, it stood at its committed offset then.`);
}

/**
 * The place with this offset. `received`: the time of the first request with this offset, or the newest time that a
 * notification of a gap or reset names; null if unknown. No record has the last offset before a reset.
 */
async function placeOf(at: Installation, source: SourceSettings, since: string) {
  const isLater = (one: StreamPlace, kept: StreamPlace | null) =>
    one.since === since && (one.received ?? '') > (kept?.received ?? '');
  const { place } = await firstPlace(at, source, (one) => one.since === since);
  const found = place ?? (await placeOnTopic(at, source, isLater, at.topics.notifications)).place;
  return { since, received: found?.received ?? null, oldestOf: null };
}

/** The earliest place for which `accepts` returns true. */
function firstPlace(at: Installation, source: SourceSettings, accepts: (place: StreamPlace) => boolean) {
  return placeOnTopic(at, source, (place, kept) => accepts(place) && !(kept && kept.timestampMs <= place.timestampMs));
}

function nothingCommitted({ name }: SourceSettings, problem: string | null): ConnectorError {
  if (problem !== null) return new ConnectorError('OFFSET_UNREADABLE', problem, { fields: { source: name } });
  return notFound(`Source ${name} has no committed offset: it has not run yet, or its offset was reset.`);
}

function notFound(text: string): ConnectorError {
  return new ConnectorError('OFFSET_NOT_FOUND', text);
}

/** Errors of an unreadable response. All other errors say nothing about this position of the stream. */
const UNREADABLE: ReadonlySet<ErrorCode> = new Set(['BODY_MALFORMED', 'BODY_TOO_LARGE', 'PROTOCOL_VIOLATION']);
const MOST_POSITIONS = 100;

export async function offsetsSkip(
  context: CommandContext,
  { to: given, execute }: { readonly to?: string; readonly execute: boolean },
  name: string,
): Promise<void> {
  const { stderr, signal, exitWith } = context;
  const settings = await loadWholeSettings(context);
  const source = knownSource(context, name, settings.sources);
  refuseForm(context, source, '--to', given === 'newest' ? undefined : given);
  const needs = [...NEEDS, 'notifications'] as const;
  const skip = await atInstallation({ settings, signal, needs }, (at) =>
    atProvider(at, (session) => skipPosition(at, session, { source, given, execute })),
  );
  const { problem, from, to, positions } = skip;
  print(context, { source: name, problem, from, to, positions }, withoutControls(`since: ${from} -> ${to ?? from}\n`));
  stderr.write(withoutControls(skippedText(skip, name)));
  if (execute && !skip.change.done) exitWith(EXIT_CODES.failed);
}

type OffsetSkip = Awaited<ReturnType<typeof skipPosition>>;

function skippedText({ problem, from, to, positions, change }: OffsetSkip, source: string): string {
  if (problem === null) {
    return (
      'Nothing was changed: the response after this offset can be read. If a later item cannot be read, the source ' +
      'requests fewer items after each failure, and commits the items before the unreadable item. Let the source run ' +
      `${change.isStopped ? `(spconnect resume ${source}) ` : ''}until its offset no longer changes.\n`
    );
  }
  const many =
    positions !== null && positions > 1 ? `, and the next ${positions - 1} responses cannot be read either` : '';
  const what = `The response at ${from ?? 'the start'} cannot be read (${problem})${many}.`;
  const lost = `Everything after ${from ?? 'the start'}, up to and including ${to},`;
  if (change.done) {
    const next = `Source ${source} continues after ${to} when it is resumed (spconnect resume ${source}).`;
    return `${what} ${next} ${lost} is lost, and a notification reports this.${besidesText(change)}\n`;
  }
  return `Nothing was changed; --execute continues after ${to}. ${lost} is then lost. ${what}${besidesText(change)}\n`;
}

interface SkipRequest {
  readonly source: SourceSettings;
  /** A provider's offset to continue from, or `newest`; undefined: continue after the unreadable responses. */
  readonly given: string | undefined;
  readonly execute: boolean;
}

/**
 * First requests the committed position again, one event at a time. If the response is readable, nothing is skipped,
 * and `problem` is null. A notification reports lost events. `positions`: number of unreadable responses; null if `given`.
 *
 * @throws ConnectorError OFFSET_NOT_FOUND, or an error of the provider or of `changeOffset`.
 */
async function skipPosition(at: Installation, session: ProviderSession, { source, given, execute }: SkipRequest) {
  const { settings, clock, signal, topics } = at;
  const planned = await changeOffset(at, { source, execute: false }, () => undefined);
  const { offset, problem: unreadable } = planned.before;
  if (offset === null) throw nothingCommitted(source, unreadable);
  const from = typeof offset.since === 'string' ? offset.since : null;
  const { stream } = session.open(source, 1);
  const found = await unreadableFrom(session, stream, from, signal);
  if (found === null) return { problem: null, from, to: null, positions: null, change: planned };
  const { problem } = found;
  const since = given ?? behind(found, from);
  const { to, receivedMs } = await placeToGoOn(session, stream, since, signal);
  if (isBefore(to, from ?? to)) {
    throw notFound(`The offset ${to} is before the committed offset ${from}: \`spconnect offsets set\` goes back.`);
  }
  const plan = { problem, from, to, positions: given === undefined ? found.positions : null };
  if (!execute) return { ...plan, change: planned };
  const registry = await createRegistry(settings.schemaRegistry, { clock, log: silentLog });
  const encode = await notificationEncoder(registry, topics.notifications, signal);
  const received = new Date(receivedMs).toISOString();
  const { change } = await moveStream(
    at,
    { source, execute },
    { since: to, received },
    {
      from,
      notices({ offset: now }) {
        const what = `${SOURCE_WORDS[source.type].item}s`;
        const healed = kindOf(source).walks ? '; the next walks correct the instruments' : '';
        const value = encode({
          source: source.name,
          kind: 'stream-skipped',
          at: receivedMs,
          message: `An operator has skipped a part of the stream that could not be read. The ${what} in it are lost.`,
          gapFrom: typeof now?.serverDate === 'string' ? Date.parse(now.serverDate) : null,
          gapTo: receivedMs,
          gapSinceFrom: from,
          gapSinceTo: to,
          why: problem,
          lost: `${what} after the first offset, up to and including the second${healed}`,
        });
        return [keyedRecord(topics.notifications, source.name, value, {})];
      },
    },
  );
  return { ...plan, change };
}

interface Unreadable {
  readonly problem: string;
  /** The first offset with a readable response; null if no response names this offset, or after MOST_POSITIONS. */
  readonly to: string | null;
  readonly positions: number;
  /** The offset that the last of these responses names. */
  readonly next: string | null;
}

function behind({ to, problem, positions, next }: Unreadable, from: string | null): string {
  if (to !== null) return to;
  const unread =
    positions > 1 ? `${positions} responses, beginning at ${from ?? 'the start'},` : `The response at ${from}`;
  const remedy =
    next === null
      ? `${positions > 1 ? 'the last of them' : 'it'} does not name the next offset. Ask the provider for this offset, and pass it with --to.`
      : `no more were tried. The next offset is ${next}: pass it with --to, or a later one.`;
  throw notFound(
    `${unread} cannot be read (${problem}), and ${remedy} --to newest continues at the newest offset of the stream: all ` +
      'events before it are lost.',
  );
}

/** Returns the offset to continue from. Throws if the provider refuses this offset, or its response is unreadable. */
async function placeToGoOn(
  session: ProviderSession,
  stream: SkippableStream,
  wanted: string,
  signal: AbortSignal,
): Promise<{ readonly to: string; readonly receivedMs: number }> {
  const start = wanted === 'newest' ? await session.patiently(() => stream.start(signal)) : null;
  const to = start === null ? wanted : (start.newest ?? start.since ?? '');
  const outcome = await session.patiently(() => stream.after(to, signal));
  if (outcome.kind === 'stream') return { to, receivedMs: start?.time.dateMs ?? outcome.answer.time.dateMs };
  throw notFound(`The provider refuses the offset ${to} (status ${outcome.status}).`);
}

/** Follows the links of unreadable responses from an offset; null if the first response is readable. */
async function unreadableFrom(
  session: ProviderSession,
  stream: SkippableStream,
  since: string | null,
  signal: AbortSignal,
): Promise<Unreadable | null> {
  const problem = await problemAt(session, stream, since, signal);
  if (problem === null) return null;
  let at = since;
  for (let positions = 1; ; positions++) {
    const next = await session.patiently(() => stream.nextOf(at, signal));
    if (next === null || next === at) return { problem, to: null, positions, next: null };
    if (positions >= MOST_POSITIONS) return { problem, to: null, positions, next };
    at = next;
    if ((await problemAt(session, stream, at, signal)) === null) return { problem, to: at, positions, next: at };
  }
}

/** Null if one of two responses is readable, because a single unreadable response may have been damaged on its way. */
async function problemAt(
  session: ProviderSession,
  stream: SkippableStream,
  since: string | null,
  signal: AbortSignal,
): Promise<string | null> {
  const attempt = async () => {
    try {
      const outcome = await stream.after(since, signal);
      if (outcome.kind !== 'refused') return null;
      throw notFound(
        `The provider refuses the offset ${since} (status ${outcome.status}), so no response can be skipped. ` +
          'While the source runs, it verifies this for the time of gapProof. Then it continues at a new offset by itself.',
      );
    } catch (error) {
      if (error instanceof ConnectorError && UNREADABLE.has(error.code)) return `${error.code}: ${error.message}`;
      throw error;
    }
  };
  return (await session.patiently(attempt)) && (await session.patiently(attempt));
}
