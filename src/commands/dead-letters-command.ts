import { isUtf8 } from 'node:buffer';
import { type SourceSettings, type SourceSettingsOf, topicOf } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { CommittedRecord, OutgoingRecord } from '../kafka/record.ts';
import { keyedRecord } from '../kafka/record.ts';
import { RECORD_ALLOWANCE_BYTES } from '../kafka/topic.ts';
import type { SchemaRegistry } from '../records/avro/registry.ts';
import { readSchemaText, type SchemaName } from '../records/avro/schema-files.ts';
import { createCheckDecoder } from '../records/decoding/check-decoder.ts';
import { createEventDecoder } from '../records/decoding/event-decoder.ts';
import { createPageDecoder } from '../records/decoding/page-decoder.ts';
import { commitInTurn } from '../run/commit-in-turn.ts';
import { atInstallation, type Installation } from '../run/installation.ts';
import { createRegistry } from '../run/registry-client.ts';
import { operatorId, readWanted, restartRecord, statesPartitions } from '../run/state-operation.ts';
import { eventRecords, type InstrumentTargets, rowRecords } from '../sources/tasks/instrument-records.ts';
import { silentLog } from '../support/log.ts';
import { BACKFILL, PRICE_PROCESSOR } from '../worker/target.ts';
import { BACKFILL_REQUEST } from './backfill/backfill-plan.ts';
import { loadWholeSettings, loadWithoutProvider } from './command-settings.ts';
import {
  DEAD_LETTER_HEADER,
  type DeadLetter,
  HeldStates,
  planRetry,
  type Reread,
  type RereadLetter,
  type RetriedLetter,
} from './dead-letter-plan.ts';
import { atProvider, type ProviderSession } from './provider-session.ts';
import { print, printable, textTable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

interface ListOptions {
  readonly source?: string;
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly limit: number;
}

/** `dead-letters list`: the newest that fit, oldest first. */
export async function deadLettersList(context: CommandContext, options: ListOptions): Promise<void> {
  const { source, since = 0, limit } = options;
  const letters: DeadLetter[] = [];
  const counts = new Map<string, number>();
  await atLetters(context, (at) =>
    eachDeadLetter(at, (letter) => {
      if ((source !== undefined && letter.source !== source) || letter.timestampMs < since) return;
      counts.set(letter.source, (counts.get(letter.source) ?? 0) + 1);
      letters.push(letter);
      if (letters.length > limit) letters.shift();
    }),
  );
  const rows = letters.map((letter) => [
    letter.id,
    new Date(letter.timestampMs).toISOString(),
    letter.source,
    letter.key ?? '',
    letter.pointer || 'the whole',
    letter.reason,
  ]);
  const table = rows.length === 0 ? [] : [['id', 'written', 'source', 'key', 'place', 'reason'], ...rows];
  print(context, letters.map(withoutValue), textTable(table));
  const count = [...counts.values()].reduce((sum, one) => sum + one, 0);
  if (count === 0) context.stderr.write('No dead letter matches.\n');
  else if (count > letters.length) {
    const each = [...counts].map(([name, ofSource]) => `${name} ${ofSource}`).join(', ');
    context.stderr.write(`The newest ${letters.length} of ${count} (${each}); --source or --limit shows others.\n`);
  }
}

/** `dead-letters show`: one of them, with headers and input. */
export async function deadLettersShow(context: CommandContext, _options: object, id: string): Promise<void> {
  const [letter] = await atLetters(context, (at) => deadLetters(at, [id]));
  if (letter === undefined) return;
  const { headers, key, timestampMs, value } = letter;
  const facts = [['key', key ?? ''], ['written', new Date(timestampMs).toISOString()], ...Object.entries(headers)];
  const text = value === null ? null : value.toString(isUtf8(value) ? 'utf8' : 'latin1');
  const shown = `${textTable(facts)}\n${text === null ? 'It has no input.' : printable(text)}\n`;
  print(context, { ...withoutValue(letter), value: text }, shown);
}

function withoutValue({ value, timestampMs, ...letter }: DeadLetter) {
  return { ...letter, timestamp: new Date(timestampMs).toISOString(), bytes: value?.length ?? null };
}

async function atLetters<Found>(
  context: CommandContext,
  work: (at: Installation) => Promise<Found>,
  needs: readonly ('dead-letters' | 'states')[] = ['dead-letters'],
): Promise<Found> {
  const settings = await loadWithoutProvider(context);
  return atInstallation({ settings, signal: context.signal, needs }, work);
}

/** The dead letters of these ids, in their order. @throws ConnectorError DEAD_LETTER_UNKNOWN. */
async function deadLetters(at: Installation, ids: readonly string[]): Promise<readonly DeadLetter[]> {
  const found = new Map<string, DeadLetter>();
  await eachDeadLetter(at, (letter) => {
    if (ids.includes(letter.id)) found.set(letter.id, letter);
  });
  return ids.map((id) => {
    const letter = found.get(id);
    if (letter !== undefined) return letter;
    const text = `There is no dead letter ${JSON.stringify(id)} on ${at.topics['dead-letters'].name}.`;
    throw new ConnectorError('DEAD_LETTER_UNKNOWN', text);
  });
}

async function eachDeadLetter(
  { kafka, topics, signal }: Installation,
  take: (letter: DeadLetter) => void,
): Promise<void> {
  const { name: topic, partitions: count } = topics['dead-letters'];
  await kafka.logReader.readToEnd({
    topic,
    partitions: Array.from({ length: count }, (_, partition) => partition),
    onRecord({ offset, timestampMs, key, headers, value }) {
      take({
        id: String(offset),
        timestampMs,
        source: headers['__connect.errors.connector.name'] ?? '',
        topic: headers['__connect.errors.topic'] ?? '',
        key: key === null ? null : key.toString(),
        pointer: headers['spc-pointer'] ?? '',
        reason: headers['__connect.errors.exception.message'] ?? '',
        headers,
        value,
      });
    },
    signal,
  });
}

const UNMAPPED = 'cannot be mapped';
const UNMAPPED_ADVICE =
  'To write what cannot be mapped, with null for a wrong value: set mapping.onMismatch: keepInExtras, and retry.';

/** `dead-letters retry`: decodes them again, and writes their records. */
export async function deadLettersRetry(
  context: CommandContext,
  { execute }: { readonly execute: boolean },
  ids: readonly string[],
): Promise<void> {
  const work = (at: Installation) => retry(at, [...new Set(ids)], execute, context);
  const retried = await atLetters(context, work, ['dead-letters', 'states']);
  const rows = retried.map(({ id, outcome, topics, says }) => [
    id,
    outcome === 'toWrite' ? 'to be written' : outcome,
    [...new Set(topics), says].filter((part) => part !== '').join('; '),
  ]);
  print(context, retried, textTable(rows));
  const isWritable = retried.some(({ outcome }) => outcome === 'toWrite');
  if (!execute) context.stderr.write(`Nothing was written${isWritable ? '; --execute does it' : ''}.\n`);
  if (!retried.some(({ outcome }) => outcome === 'impossible')) return;
  if (retried.some(({ says }) => says.includes(UNMAPPED))) context.stderr.write(`${UNMAPPED_ADVICE}\n`);
  context.exitWith(EXIT_CODES.failed);
}

/**
 * Writes the records in one transaction. An instrument is only written when neither the topic nor another letter has a
 * newer state of it; a connector that writes it at the same moment corrects it by its next walk. The same transaction
 * restarts the sources of these instruments, so that they read what was written here.
 */
async function retry(
  at: Installation,
  ids: readonly string[],
  execute: boolean,
  context: CommandContext,
): Promise<readonly RetriedLetter[]> {
  const { settings, clock, signal } = at;
  const letters = await deadLetters(at, ids);
  const reread = async (session: ProviderSession | null) => {
    const registry = await createRegistry(settings.schemaRegistry, { clock, log: silentLog });
    const all: Reread[] = [];
    for (const letter of letters) all.push({ letter, now: await rereadLetter(at, { registry, session }, letter) });
    return all;
  };
  // Only a pre-trade check needs the provider, and its credentials.
  const isCheck = ({ source }: DeadLetter) =>
    settings.sources.some(({ name, type }) => name === source && type === 'pre-trade-checks');
  const all = letters.some(isCheck)
    ? await atProvider({ settings: await loadWholeSettings(context), signal, clock }, reread)
    : await reread(null);
  const records = all.flatMap(({ now }) => (now.kind === 'records' ? now.records : []));
  const stateTopics = new Map<string, 'instrument' | 'check'>();
  for (const { topics: named } of settings.sources) {
    if ('instruments' in named) stateTopics.set(topicOf(settings, named.instruments), 'instrument');
    if ('pre-trade-checks' in named) stateTopics.set(topicOf(settings, named['pre-trade-checks']), 'check');
  }
  const planned = async (readSignal: AbortSignal) => {
    const held = await heldOf({ ...at, signal: readSignal }, records);
    return planRetry(all, held, { stateTopics, nowMs: clock.wallMs() });
  };
  if (!execute) {
    const { outcomes } = await planned(signal);
    return outcomes.map((one) => (one.outcome === 'written' ? { ...one, outcome: 'toWrite' } : one));
  }
  const written = new Map(records.map(({ topic, partition }) => [`${topic}/${partition}`, { topic, partition }]));
  const done = await commitInTurn(at, operatorId(settings.prefix), {
    abortHanging: () => [...statesPartitions(at.topics), ...written.values()],
    async read(readSignal) {
      const plan = await planned(readSignal);
      return { ...plan, restarts: await restartsFor({ ...at, signal: readSignal }, plan.records) };
    },
    writes: (plan) => ({ records: [...plan.records, ...plan.restarts] }),
  });
  return done.outcomes;
}

async function restartsFor(at: Installation, records: readonly OutgoingRecord[]): Promise<readonly OutgoingRecord[]> {
  const written = new Set(records.map(({ topic }) => topic));
  const restarts: OutgoingRecord[] = [];
  for (const { name, topics } of at.settings.sources) {
    if (!('instruments' in topics) || !written.has(topicOf(at.settings, topics.instruments))) continue;
    restarts.push(restartRecord(at, name, await readWanted(at, name)));
  }
  return restarts;
}

async function heldOf({ kafka, signal }: Installation, records: readonly OutgoingRecord[]): Promise<HeldStates> {
  const held = new HeldStates(records);
  for (const [topic, ofTopic] of Map.groupBy(records, (record) => record.topic)) {
    const partitions = [...new Set(ofTopic.map(({ partition }) => partition))];
    const onRecord = (record: CommittedRecord) => held.add(record);
    await kafka.logReader.readToEnd({ topic, partitions, behindOpen: true, onRecord, signal });
  }
  return held;
}

const PROVENANCE = ['spc-source', 'spc-walk', 'spc-since', 'spc-endpoint', 'spc-received'];

interface RereadTools {
  readonly registry: SchemaRegistry;
  /** Present when a letter is of a pre-trade check. */
  readonly session: ProviderSession | null;
}

/** Decodes the input of a dead letter as its source would, with the current schemas and settings. */
async function rereadLetter(at: Installation, tools: RereadTools, letter: DeadLetter): Promise<RereadLetter> {
  const source = at.settings.sources.find(({ name }) => name === letter.source);
  if (letter.source === PRICE_PROCESSOR) return impossible('it belongs to a price, which is requested again anyway');
  if (letter.source === BACKFILL) {
    const request = letter.headers[BACKFILL_REQUEST] ?? 'daily|intraday --from … --to …';
    return impossible(`it belongs to a backfill: run \`spconnect backfill ${request} --isin <its ISIN>\``);
  }
  if (source === undefined) return impossible(`the settings have no source ${JSON.stringify(letter.source)}`);
  if (source.type === 'pre-trade-checks') return asCheck(at, tools, source, letter);
  return asInstrument(at, tools.registry, source, letter);
}

/** A row of the list, or an event with its instrument; an events source writes the event alone. */
async function asInstrument(
  { settings, topics, kafka, clock, signal }: Installation,
  registry: SchemaRegistry,
  source: Exclude<SourceSettings, { readonly type: 'pre-trade-checks' }>,
  letter: DeadLetter,
): Promise<RereadLetter> {
  const input = letter.value;
  if (input === null) return impossible('it has no input');
  if (Number(letter.headers['spc-length']) !== input.length) return impossible('its input was cut');
  const own = source.type === 'instruments' ? source : null;
  const { 'instrument-events': eventsName } = source.topics;
  const instrumentEvents = { ...topics['instrument-events'], name: topicOf(settings, eventsName) };
  const instruments = { ...topics.instruments, ...(own && { name: topicOf(settings, own.topics.instruments) }) };
  const written = own ? [instruments, instrumentEvents] : [instrumentEvents];
  if (!written.some(({ name }) => name === letter.topic)) return notWritten();
  const { maxMessageBytes } = await kafka.ensureTopics(written, { create: false });
  const limitBytes = Math.min(...written.map(({ name }) => maxMessageBytes.get(name) ?? 0));
  const { onMismatch } = settings.mapping;
  const common = { onMismatch, maxValueBytes: limitBytes - RECORD_ALLOWANCE_BYTES, clock };
  const schemaOf = async (name: SchemaName, topic: { readonly name: string }) => {
    const schema = readSchemaText(name);
    return { schema, schemaId: await registry.schemaId(`${topic.name}-value`, schema, signal) };
  };
  const { 'dead-letters': deadLetters, notifications } = topics;
  const targets: InstrumentTargets = { source: source.name, instruments, instrumentEvents, deadLetters, notifications };
  const headers = headersOf(letter);
  if (letter.topic !== instrumentEvents.name) {
    const instrument = await schemaOf('Instrument', instruments);
    const decoder = createPageDecoder({ ...common, ...instrument, listKey: 'instruments' });
    const { rows } = await decoder.decode(listOf('instruments', input));
    return unmapped(rows) ?? { kind: 'records', records: rowRecords(rows, targets, headers) };
  }
  const event = await schemaOf('InstrumentEvent', instrumentEvents);
  const instrument = own
    ? await schemaOf('Instrument', instruments)
    : { ...event, schema: readSchemaText('Instrument') };
  const decoder = createEventDecoder({
    ...common,
    eventSchema: event.schema,
    eventSchemaId: event.schemaId,
    instrumentSchema: instrument.schema,
    instrumentSchemaId: instrument.schemaId,
  });
  const { rows } = await decoder.decode(listOf('events', input));
  const records = eventRecords(
    rows,
    targets,
    headers,
    (row) => row.kind === 'event' && row.type !== null && own?.deleteOnEventTypes.includes(row.type) === true,
  );
  const kept = records.filter(({ topic }) => written.some(({ name }) => name === topic));
  return unmapped(rows) ?? { kind: 'records', records: kept };
}

/** The topic has no input of a check: the provider is asked for its present state. */
async function asCheck(
  { settings, topics, kafka, clock, signal }: Installation,
  { registry, session }: RereadTools,
  source: SourceSettingsOf<'pre-trade-checks'>,
  letter: DeadLetter,
): Promise<RereadLetter> {
  const topic = { ...topics['pre-trade-checks'], name: topicOf(settings, source.topics['pre-trade-checks']) };
  if (letter.topic !== topic.name) return notWritten();
  if (letter.key === null) return impossible('its id could not be read, and the provider gives a check only by its id');
  const { maxMessageBytes } = await kafka.ensureTopics([topic], { create: false });
  const schema = readSchemaText('PreTradeCheck');
  const decoder = createCheckDecoder({
    schema,
    schemaId: await registry.schemaId(`${topic.name}-value`, schema, signal),
    onMismatch: settings.mapping.onMismatch,
    maxValueBytes: (maxMessageBytes.get(topic.name) ?? 0) - RECORD_ALLOWANCE_BYTES,
    clock,
  });
  try {
    const check = (await session?.check(letter.key, decoder)) ?? null;
    if (check === null) return impossible('the provider has no check of its id any more');
    const received = new Date(clock.wallMs()).toISOString();
    const headers = { ...headersOf(letter), 'spc-endpoint': check.endpoint, 'spc-received': received };
    return { kind: 'records', records: [keyedRecord(topic, letter.key, check.value, headers)] };
  } catch (error) {
    if (!(error instanceof ConnectorError) || error.code !== 'BODY_MALFORMED') throw error;
    return impossible(error.message);
  }
}

async function* listOf(listKey: string, input: Buffer): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`{"${listKey}":[`);
  yield input;
  yield Buffer.from(']}');
}

function unmapped(
  rows: readonly { readonly kind: string; readonly pointer?: string; readonly reason?: string }[],
): RereadLetter | null {
  const failure = rows.find(({ kind }) => kind === 'failure');
  return failure ? impossible(`it ${UNMAPPED} at ${failure.pointer || '/'}: ${failure.reason}`) : null;
}

function impossible(why: string): RereadLetter {
  return { kind: 'impossible', why };
}

function notWritten(): RereadLetter {
  return impossible('its topic is not one that its source writes');
}

function headersOf({ id, headers }: DeadLetter): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => PROVENANCE.includes(name));
  return { ...Object.fromEntries(kept), [DEAD_LETTER_HEADER]: id };
}
