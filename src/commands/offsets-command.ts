import { ago, durationText } from '../admin/status/ages.ts';
import { type SourceSettings, topicOf } from '../config/settings.ts';
import { ConnectorError, type ErrorCode } from '../errors.ts';
import type { SourceOffset, StoredOffset } from '../kafka/offset-store.ts';
import { keyedRecord } from '../kafka/record.ts';
import type { BodyEdges } from '../provider/http/body-chunks.ts';
import type { HttpResponse } from '../provider/http/http-response.ts';
import { nextEventOffset, probableNext } from '../provider/page-link.ts';
import { nextCheckOffset } from '../provider/pre-trade-checks.ts';
import { createNotificationEncoder } from '../records/avro/record-encoder.ts';
import { readSchemaText } from '../records/avro/schema-files.ts';
import { atInstallation, type Installation } from '../run/installation.ts';
import {
  changeOffset,
  type ListedOffset,
  listOffsets,
  type OffsetChange,
  resetOffset,
} from '../run/offsets-operation.ts';
import { createRegistry } from '../run/registry-client.ts';
import { assertForm } from '../run/usable-offset.ts';
import { kindOf } from '../sources/kinds/all.ts';
import { isBefore, RETENTION_MS } from '../sources/stream/retention-gap.ts';
import type { FollowedStream } from '../sources/tasks/followed-stream.ts';
import { committedWalkIntervalMs } from '../sources/walk/instruments-offset.ts';
import { systemClock } from '../support/clock.ts';
import { silentLog } from '../support/log.ts';
import { knownSource, loadWholeSettings, loadWithoutProvider } from './command-settings.ts';
import { DEAD_LETTER_HEADER } from './dead-letter-plan.ts';
import { atProvider, type ProviderSession } from './provider-session.ts';
import { withoutControls } from './shell/describe-error.ts';
import { print, textTable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

const NEEDS = ['offsets', 'states'] as const;

/** `offsets list`: the committed offset of each source, as of now. */
export async function offsetsList(context: CommandContext): Promise<void> {
  const settings = await loadWithoutProvider(context);
  const found = await atInstallation({ settings, signal: context.signal, needs: NEEDS }, listOffsets);
  const intervals = new Map(
    settings.sources.map((source) => [source.name, source.type === 'instruments' ? source.walkIntervalMs : null]),
  );
  const header = ['source', 'type', 'since', 'stream read', 'unread events kept for', 'last walk', 'next walk'];
  const rows = found.map((one) => offsetRow(one, intervals.get(one.source) ?? null, systemClock.wallMs()));
  print(context, found, textTable([header, ...rows]));
}

function offsetRow(
  { source, type, offset, problem, configured }: ListedOffset,
  intervalMs: number | null,
  nowMs: number,
): string[] {
  const name = [source, `${type ?? 'the key of another program'}${configured ? '' : ' (not in the settings)'}`];
  if (offset === null) return [...name, problem ?? 'nothing is committed'];
  const dateOf = (key: string) => Date.parse(String(offset[key]));
  const now = new Date(nowMs).toISOString();
  const shown = (ms: number, text: (ms: number) => string) => (Number.isNaN(ms) ? '' : text(ms));
  const since = (ms: number) => ago(new Date(ms).toISOString(), now);
  const walkMs = dateOf(offset.walkStartedOwn === undefined ? 'walkStartedAt' : 'walkStartedOwn');
  // The process that walks may have other settings than these.
  const nextMs = walkMs + (committedWalkIntervalMs(offset) ?? intervalMs ?? Number.NaN) - nowMs;
  return [
    ...name,
    String(offset.since ?? ''),
    shown(dateOf(offset.ownDate === undefined ? 'serverDate' : 'ownDate'), since),
    shown(dateOf('serverDate') + RETENTION_MS - nowMs, (ms) => (ms > 0 ? durationText(ms / 1_000) : 'lost in part')),
    shown(walkMs, (ms) => `${offset.walk}, begun ${since(ms)}${offset.walkPending === true ? ', not ended' : ''}`),
    shown(nextMs, (ms) => (ms > 0 ? `in ${durationText(ms / 1_000)}` : 'now')),
  ];
}

interface ChangeOptions {
  readonly execute: boolean;
}

/** `offsets reset`: deletes the committed offset, which goes to stdout. */
export async function offsetsReset(context: CommandContext, { execute }: ChangeOptions, name: string): Promise<void> {
  const { stderr, signal } = context;
  const settings = await loadWithoutProvider(context);
  const source = knownSource(context, name, settings.sources);
  const change = await atInstallation({ settings, signal, needs: NEEDS }, (at) => resetOffset(at, { source, execute }));
  const { before, done } = change;
  const members = Object.entries(before.offset ?? {}).map(([key, member]) => `${key}: ${member}\n`);
  print(context, before, withoutControls(before.problem === null ? members.join('') : `${before.problem}\n`));
  if (before.offset === null && before.problem === null) {
    stderr.write(`Source ${name} has no committed offset: there is nothing to reset.\n`);
  } else if (done) {
    const next = `The source starts from the beginning when it is resumed (spconnect resume ${name}).`;
    stderr.write(`The offset of source ${name} was deleted. ${next}${othersText(change)}\n`);
  } else {
    if (execute) throw new Error(`The offset of source ${name} was not deleted.`);
    stderr.write(
      `Nothing was changed. With --execute, the offset of source ${name} is deleted. The source then starts from the beginning: ` +
        'with a complete walk, and with the stream as it is then. Events that it has not read yet are lost; records in the ' +
        `topics stay.${stopText(change)}${othersText(change)}\n`,
    );
  }
}

function othersText({ besides, before }: OffsetChange): string {
  if (besides.length === 0) return '';
  return ` The other sources on partition ${before.partition} continue: ${besides.join(', ')}.`;
}

function stopText({ isStopped, before }: OffsetChange): string {
  return isStopped ? '' : ` Stop the source first: spconnect stop ${before.source}.`;
}

/** An offset of the provider, or the position of the source at a time. */
type RequestedPlace = { readonly since: string } | { readonly atMs: number };

/** `offsets set`: the stream of a source continues at another offset. */
export async function offsetsSet(
  context: CommandContext,
  { since, to, execute }: ChangeOptions & { readonly since?: string; readonly to?: number },
  name: string,
): Promise<void> {
  const { stderr, signal, refuse } = context;
  if (since === undefined && to === undefined) refuse('expected --since or --to');
  const place: RequestedPlace = since === undefined ? { atMs: to ?? 0 } : { since };
  const settings = await loadWithoutProvider(context);
  const source = knownSource(context, name, settings.sources);
  const { found, after, change } = await atInstallation({ settings, signal, needs: NEEDS }, (at) =>
    setOffset(at, { source, to: place, execute }),
  );
  const { before, done } = change;
  const moved = ['since', 'serverDate'].map((key) => `${key}: ${before.offset?.[key]} -> ${after?.[key]}\n`);
  print(context, { source: name, before: before.offset, after }, withoutControls(moved.join('')));
  const age =
    found.received === null
      ? ' No record says when the provider gave this offset: the source will report a suspected gap and walk.'
      : ` The provider was asked there at ${found.received}.`;
  const oldest = found.isOldest ? ' The topic has no record of the source from before the requested time.' : '';
  const next = ` The source continues from there when it is resumed (spconnect resume ${name}).`;
  const text = done
    ? `The offset of source ${name} was changed.${age}${oldest}${next}`
    : `Nothing was changed; --execute makes the change.${age}${oldest}${stopText(change)}`;
  stderr.write(withoutControls(`${text}${othersText(change)}\n`));
}

interface FoundPlace {
  readonly since: string;
  /** When the provider was asked there, by its clock, ISO 8601; null when no record of the topic says it. */
  readonly received: string | null;
  /** The topic has no record of the source from before the requested time. */
  readonly isOldest: boolean;
}

/**
 * Lets the stream of a source continue at another offset. The offset of a time is that of the first record that the
 * source wrote at that time or later: the provider was asked for the events after it, so none from then on is left out.
 * Exported for tests.
 *
 * @throws ConnectorError OFFSET_UNREADABLE; OFFSET_NOT_FOUND when nothing is committed, the form of the offset is wrong,
 *   or no record has the offset of that time; and as `changeOffset` does.
 */
export async function setOffset(
  at: Installation,
  request: { readonly source: SourceSettings; readonly to: RequestedPlace; readonly execute: boolean },
) {
  const { source, to, execute } = request;
  const found = await findPlace(at, source, to);
  let after: SourceOffset | null = null;
  const move = ({ offset }: Pick<StoredOffset, 'offset'>): SourceOffset => {
    if (offset === null) throw notFound(`Source ${source.name} has no committed offset that could be changed.`);
    after = movedOffset(at, source, offset, found);
    return after;
  };
  const change = await changeOffset(at, { source, execute }, move);
  if (!execute) after = move(change.before);
  return { found, after: after as SourceOffset | null, change };
}

/**
 * The offset at another place. The date says how old the place is, since the provider keeps events for seven days; an
 * unknown date is as old as possible, so the source reports a suspected gap. Instruments are walked again: events that
 * are read again may bring back instruments that left the list without an event.
 */
function movedOffset(
  { clock }: Installation,
  source: SourceSettings,
  offset: SourceOffset,
  { since, received }: Pick<FoundPlace, 'since' | 'received'>,
): SourceOffset {
  const date = received ?? new Date(0).toISOString();
  // A suspicion, and an offset held beside, belong to the earlier place.
  const nothing = { standingMs: 0, standingLeastMs: 0, gapSuspectedFrom: null, heldSince: null, heldMs: null };
  const nowMs = clock.wallMs();
  // Events before the furthest offset come again: they must not set an instrument back.
  const furthest = offset.againUpTo ?? offset.since;
  const known = kindOf(source).offsets.areOrdered && typeof furthest === 'string' ? furthest : null;
  const isAgain = known !== null && isBefore(since, known);
  const again = { againUpTo: isAgain ? known : null, againFrom: isAgain ? new Date(nowMs).toISOString() : null };
  const moved = { ...offset, since, serverDate: date, ownDate: date, ...nothing, ...again };
  return kindOf(source).moved(source, moved, nowMs);
}

async function findPlace(at: Installation, source: SourceSettings, to: RequestedPlace): Promise<FoundPlace> {
  if ('since' in to) assertForm(source, to.since);
  let found: { readonly since: string; readonly received: string | null; readonly timestampMs: number } | null = null;
  let isOldest = 'atMs' in to;
  const topic = topicOf(at.settings, kindOf(source).streamTopic(source));
  await at.kafka.logReader.readToEnd({
    topic,
    partitions: Array.from({ length: at.settings.topics.partitions }, (_, partition) => partition),
    onRecord({ headers, timestampMs }) {
      const { 'spc-source': writer, 'spc-since': since, 'spc-received': received = null } = headers;
      // A dead letter that was written later carries the place of its input.
      if (writer !== source.name || since === undefined || DEAD_LETTER_HEADER in headers) return;
      if ('atMs' in to && timestampMs < to.atMs) isOldest = false;
      if ('since' in to ? since !== to.since : timestampMs < to.atMs) return;
      if (found === null || timestampMs < found.timestampMs) found = { since, received, timestampMs };
    },
    signal: at.signal,
  });
  if (found !== null) return { ...(found as Omit<FoundPlace, 'isOldest'>), isOldest };
  if ('since' in to) return { since: to.since, received: null, isOldest: false };
  const time = new Date(to.atMs).toISOString();
  throw notFound(
    `Source ${source.name} has written nothing to ${topic} since ${time}, so its place at that time is unknown.`,
  );
}

function notFound(text: string): ConnectorError {
  return new ConnectorError('OFFSET_NOT_FOUND', text);
}

/** Errors of a response that cannot be read; any other error says nothing of the position. */
const UNREADABLE: ReadonlySet<ErrorCode> = new Set(['BODY_MALFORMED', 'BODY_TOO_LARGE', 'PROTOCOL_VIOLATION']);
const MOST_POSITIONS = 100;

/** `offsets skip`: the stream of a source continues behind a position that can never be read. */
export async function offsetsSkip(
  context: CommandContext,
  { to: given, execute }: ChangeOptions & { readonly to?: string },
  name: string,
): Promise<void> {
  const { stderr, signal, exitWith } = context;
  const settings = await loadWholeSettings(context);
  const source = knownSource(context, name, settings.sources);
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

function skippedText({ problem, later, from, to, positions, change }: OffsetSkip, source: string): string {
  if (problem === null && later === null) {
    return 'Nothing was changed: the response at the committed offset can be read.\n';
  }
  if (problem === null) {
    return (
      `Nothing was changed: the next event can be read, and a later one cannot (${later}). The source asks for fewer events ` +
      `after each failure, and commits those before it. Let it run (spconnect resume ${source}) until its offset stays.\n`
    );
  }
  const many = positions !== null && positions > 1 ? `, nor can the ${positions - 1} after it` : '';
  const what = `The response at ${from ?? 'the start'} cannot be read (${problem})${many}.`;
  const lost = `What comes after ${from ?? 'the start'}, up to and with ${to},`;
  if (change.done) {
    const next = `Source ${source} goes on behind ${to} when it is resumed (spconnect resume ${source}).`;
    return `${what} ${next} ${lost} is lost, and a notification says so.${othersText(change)}\n`;
  }
  return `Nothing was changed; --execute goes on behind ${to}. ${lost} is then lost. ${what}${stopText(change)}${othersText(change)}\n`;
}

interface SkipRequest {
  readonly source: SourceSettings;
  /** An offset of the provider to continue from, or `newest`; undefined: behind the unreadable responses. */
  readonly given: string | undefined;
  readonly execute: boolean;
}

/**
 * Skips the unreadable responses from the committed offset on. The position is requested again first, one event at a
 * time: where it can be read, nothing is skipped. The lost part is reported by a notification in the transaction of the
 * new offset. `problem` is null when nothing is skipped; `later` says then why a response of the usual size cannot be
 * read. `positions`: how many responses of one event each are unreadable; null when the place was given.
 *
 * @throws ConnectorError OFFSET_NOT_FOUND when nothing is committed, the form of the offset is wrong, or the unreadable
 *   response does not show its end; the provider's error at the new place; and as `changeOffset` does.
 */
async function skipPosition(at: Installation, session: ProviderSession, { source, given, execute }: SkipRequest) {
  const { settings, clock, signal, topics } = at;
  if (given !== undefined && given !== 'newest') assertForm(source, given);
  const planned = await changeOffset(at, { source, execute: false }, () => undefined);
  const { offset } = planned.before;
  if (offset === null) throw notFound(`Source ${source.name} has no committed offset to go on from.`);
  const from = typeof offset.since === 'string' ? offset.since : null;
  const { stream, whole, steps } = streamOf(session, source);
  const found = await unreadableFrom(session, steps, from, signal);
  if (found === null) {
    const later = await problemAt(session, whole.after, from, signal);
    return { problem: null, later, from, to: null, positions: null, change: planned };
  }
  const { problem } = found;
  const since = given ?? behind(found, from);
  const { to, receivedMs } = await placeToGoOn(session, stream, since, signal);
  const plan = { problem, later: null, from, to, positions: given === undefined ? found.positions : null };
  if (!execute) return { ...plan, change: planned };
  const registry = await createRegistry(settings.schemaRegistry, { clock, log: silentLog });
  const schema = readSchemaText('Notification');
  const schemaId = await registry.schemaId(`${topics.notifications.name}-value`, schema, signal);
  const encoder = createNotificationEncoder({ schema, schemaId });
  const received = new Date(receivedMs).toISOString();
  const change = await changeOffset(
    at,
    { source, execute },
    // Another operator may have moved it meanwhile.
    ({ offset: now }) =>
      now !== null && (now.since ?? null) === from ? movedOffset(at, source, now, { since: to, received }) : undefined,
    ({ offset: now }) => {
      const { walks, items: what } = kindOf(source);
      const healed = walks ? '; instruments are healed by the walks that follow' : '';
      const value = encoder.encode({
        source: source.name,
        kind: 'stream-skipped',
        at: receivedMs,
        message: `An operator has skipped a part of the stream that could not be read. The ${what} in it are lost.`,
        gapFrom: typeof now?.serverDate === 'string' ? Date.parse(now.serverDate) : null,
        gapTo: receivedMs,
        gapSinceFrom: from,
        gapSinceTo: to,
        why: problem,
        lost: `${what} after the first offset, up to and with the second${healed}`,
      });
      return [keyedRecord(topics.notifications, source.name, value, {})];
    },
  );
  return { ...plan, change };
}

/** A stream, with as few items in a response as the interface allows. */
interface SmallestSteps {
  /** Throws when the response at an offset cannot be read. */
  read(since: string | null, signal: AbortSignal): Promise<unknown>;
  /** The first and last bytes of that response, unread; null where it is too large or broke. */
  edges(since: string | null, signal: AbortSignal): Promise<BodyEdges | null>;
  /** The next offset that these bytes name. */
  nextOf(edges: BodyEdges): string | null;
}

/** The stream in the smallest steps, and (`whole`) in those of the source. Pre-trade checks have one size. */
function streamOf(session: ProviderSession, source: SourceSettings) {
  const edgesOf = ({ arrived }: HttpResponse) => arrived();
  if (source.type === 'pre-trade-checks') {
    const { preTradeChecks, stream } = session.checks();
    const steps: SmallestSteps = {
      read: stream.after,
      edges: (since, signal) => preTradeChecks.list(since, edgesOf, signal),
      nextOf: (edges) => probableNext(edges, (links) => nextCheckOffset(links, preTradeChecks.baseUrl)),
    };
    return { stream, whole: stream, steps };
  }
  const { referenceData, provider: stream } = session.instruments(source, 1);
  const steps: SmallestSteps = {
    read: stream.after,
    edges: (since, signal) => referenceData.events({ since: since ?? '', maxEvents: 1 }, edgesOf, signal),
    nextOf: (edges) => probableNext(edges, (links) => nextEventOffset(links, referenceData.baseUrl)),
  };
  return { stream, whole: session.instruments(source, source.maxEvents).provider, steps };
}

interface Unreadable {
  /** Of the first position. */
  readonly problem: string;
  /** The first offset whose response can be read; null when a response does not show it, or after too many. */
  readonly to: string | null;
  /** How many responses in a row cannot be read. */
  readonly positions: number;
}

function behind({ to, problem, positions }: Unreadable, from: string | null): string {
  if (to !== null) return to;
  const unread = positions > 1 ? `${positions} responses from ${from ?? 'the start'} on` : `The response at ${from}`;
  throw notFound(
    `${unread} cannot be read (${problem}), and the offset behind them is not shown. Ask the provider for it, and give it ` +
      'with --to. --to newest goes on where the stream starts now, and loses everything until then.',
  );
}

/** The offset to continue from, once it was seen to be readable. */
async function placeToGoOn(
  session: ProviderSession,
  stream: Pick<FollowedStream<unknown>, 'start' | 'after'>,
  wanted: string,
  signal: AbortSignal,
): Promise<{ readonly to: string; readonly receivedMs: number }> {
  const start = wanted === 'newest' ? await session.patiently(() => stream.start(signal)) : null;
  const to = start === null ? wanted : (start.newest ?? start.since ?? '');
  const outcome = await session.patiently(() => stream.after(to, signal));
  if (outcome.kind === 'stream') return { to, receivedMs: start?.time.dateMs ?? outcome.answer.time.dateMs };
  throw notFound(`The provider refuses the offset ${to} (status ${outcome.status}).`);
}

/** The unreadable responses from an offset on, followed by the links in their bytes; null when the first can be read. */
async function unreadableFrom(
  session: ProviderSession,
  steps: SmallestSteps,
  since: string | null,
  signal: AbortSignal,
): Promise<Unreadable | null> {
  const problem = await problemAt(session, steps.read, since, signal);
  if (problem === null) return null;
  let at = since;
  for (let positions = 1; ; positions++) {
    const edges = await session.patiently(() => steps.edges(at, signal));
    const next = edges && steps.nextOf(edges);
    if (next === null || next === at || positions > MOST_POSITIONS) return { problem, to: null, positions };
    at = next;
    if ((await problemAt(session, steps.read, at, signal)) === null) return { problem, to: at, positions };
  }
}

/** The problem of a response that cannot be read twice: one attempt may have been spoiled on its way. */
async function problemAt(
  session: ProviderSession,
  read: SmallestSteps['read'],
  since: string | null,
  signal: AbortSignal,
): Promise<string | null> {
  const attempt = async () => {
    try {
      await read(since, signal);
      // A refusal is not an unreadable response; the source handles it as a gap.
      return null;
    } catch (error) {
      if (error instanceof ConnectorError && UNREADABLE.has(error.code)) return `${error.code}: ${error.message}`;
      throw error;
    }
  };
  return (await session.patiently(attempt)) && (await session.patiently(attempt));
}
