import type { SchemaRegistry } from '../../avro/registry.ts';
import { readSchemaText, type SchemaName } from '../../avro/schema-files.ts';
import { type SourceSettings, type SourceSettingsOf, topicOf } from '../../config/settings.ts';
import { eventRecords, type InstrumentTargets, rowRecords } from '../../connector/tasks/instrument-records.ts';
import { createCheckDecoder } from '../../decoding/check-decoder.ts';
import type { DecodedEvent } from '../../decoding/event-decoder.ts';
import { createEventDecoder } from '../../decoding/event-decoder.ts';
import { createPageDecoder } from '../../decoding/page-decoder.ts';
import { ConnectorError } from '../../errors.ts';
import type { HttpClient } from '../../http/client.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { keyedRecord } from '../../kafka/target-topic.ts';
import { RECORD_ALLOWANCE_BYTES } from '../../kafka/topic.ts';
import { BACKFILL, PRICE_PROCESSOR } from '../../worker/target.ts';
import { BACKFILL_REQUEST } from '../backfill/backfill-plan.ts';
import { askForCheck } from '../check-lookup.ts';
import type { Installation } from '../installation.ts';
import { DEAD_LETTER_HEADER } from './dead-letter-order.ts';
import type { DeadLetter } from './dead-letters-operation.ts';

/** What a dead letter becomes when it is read again: records, or why there are none. */
export type RereadLetter =
  | { readonly kind: 'records'; readonly records: readonly OutgoingRecord[] }
  | { readonly kind: 'impossible'; readonly why: string };

const PROVENANCE = ['spc-source', 'spc-walk', 'spc-since', 'spc-endpoint', 'spc-received'];

type WholeSource = Exclude<SourceSettings, { readonly type: 'pre-trade-checks' }>;

/** What dead letters are read again with; `provider`: the client of the reference data, opened when it is needed. */
export interface RereadTools {
  readonly registry: SchemaRegistry;
  provider(): Promise<{ readonly http: HttpClient; readonly baseUrl: string }>;
}

/**
 * Reads the input of a dead letter as its source would, with the current schemas and settings. The topic has no input of
 * a pre-trade check: the provider is asked for the check.
 *
 * @throws ConnectorError as registry, Kafka and the provider's client do.
 */
export async function rereadLetter(at: Installation, tools: RereadTools, letter: DeadLetter): Promise<RereadLetter> {
  const { settings } = at;
  const { registry } = tools;
  const source = settings.sources.find(({ name }) => name === letter.source);
  if (letter.source === PRICE_PROCESSOR) return impossible('it belongs to a price, which is requested again anyway');
  if (letter.source === BACKFILL) {
    const request = letter.headers[BACKFILL_REQUEST] ?? 'daily|intraday --from … --to …';
    return impossible(`it belongs to a backfill: run \`spconnect backfill ${request} --isin <its ISIN>\``);
  }
  if (source === undefined) return impossible(`the settings have no source ${JSON.stringify(letter.source)}`);
  if (source.type === 'pre-trade-checks') return asCheck(at, tools, source, letter);
  if (letter.value === null) return impossible('it has no input');
  if (Number(letter.headers['spc-length']) !== letter.value.length) return impossible('its input was cut');
  const decoding = await decodingOf(at, registry, source);
  const { instruments, instrumentEvents } = decoding.targets;
  if (source.type === 'instruments' && letter.topic === instruments.name) return asRow(decoding, letter, letter.value);
  if (letter.topic === instrumentEvents.name) return asEvent(decoding, source, letter, letter.value);
  return impossible('its topic is not one that its source writes');
}

type Decoding = Awaited<ReturnType<typeof decodingOf>>;

async function asRow(
  { targets, schemaOf, common }: Decoding,
  letter: DeadLetter,
  input: Buffer,
): Promise<RereadLetter> {
  const instrument = await schemaOf('Instrument', targets.instruments);
  const decoder = createPageDecoder({ ...common, ...instrument, listKey: 'instruments' });
  const { rows } = await decoder.decode(listOf('instruments', input));
  return unmapped(rows) ?? { kind: 'records', records: rowRecords(rows, targets, headersOf(letter)) };
}

async function asEvent(
  { targets, schemaOf, common }: Decoding,
  source: WholeSource,
  letter: DeadLetter,
  input: Buffer,
): Promise<RereadLetter> {
  const event = await schemaOf('InstrumentEvent', targets.instrumentEvents);
  const ofInstruments = source.type === 'instruments';
  // An events source writes no instruments, so that their id does not matter.
  const instrument = ofInstruments
    ? await schemaOf('Instrument', targets.instruments)
    : { schema: readSchemaText('Instrument'), schemaId: event.schemaId };
  const decoder = createEventDecoder({
    ...common,
    eventSchema: event.schema,
    eventSchemaId: event.schemaId,
    instrumentSchema: instrument.schema,
    instrumentSchemaId: instrument.schemaId,
  });
  const { rows } = await decoder.decode(listOf('events', input));
  const deletes = (row: DecodedEvent) =>
    ofInstruments && row.kind === 'event' && row.type !== null && source.deleteOnEventTypes.includes(row.type);
  const records = eventRecords(rows, targets, headersOf(letter), deletes);
  const own = ofInstruments ? records : records.filter(({ topic }) => topic === targets.instrumentEvents.name);
  return unmapped(rows) ?? { kind: 'records', records: own };
}

/** The check as the provider has it now. */
async function asCheck(
  { settings, topics, kafka, clock, signal }: Installation,
  { registry, provider }: RereadTools,
  source: SourceSettingsOf<'pre-trade-checks'>,
  letter: DeadLetter,
): Promise<RereadLetter> {
  const topic = { ...topics['pre-trade-checks'], name: topicOf(settings, source.topics['pre-trade-checks']) };
  if (letter.topic !== topic.name) return impossible('its topic is not one that its source writes');
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
    const check = await askForCheck({ ...(await provider()), decoder }, letter.key, signal);
    if (check === null) return impossible('the provider has no check of its id any more');
    const received = new Date(clock.wallMs()).toISOString();
    const headers = { ...headersOf(letter), 'spc-endpoint': check.endpoint, 'spc-received': received };
    return { kind: 'records', records: [keyedRecord(topic, letter.key, check.value, headers)] };
  } catch (error) {
    if (!(error instanceof ConnectorError) || error.code !== 'BODY_MALFORMED') throw error;
    return impossible(error.message);
  }
}

async function decodingOf(at: Installation, registry: SchemaRegistry, source: WholeSource) {
  const { settings, topics, kafka, clock, signal } = at;
  const named = (role: 'instruments' | 'instrument-events', name: string) => {
    return { ...topics[role], name: topicOf(settings, name) };
  };
  const instrumentEvents = named('instrument-events', source.topics['instrument-events']);
  const ofInstruments = source.type === 'instruments';
  const instruments = ofInstruments ? named('instruments', source.topics.instruments) : topics.instruments;
  const targets: InstrumentTargets = {
    source: source.name,
    instruments,
    instrumentEvents,
    deadLetters: topics['dead-letters'],
    notifications: topics.notifications,
  };
  const written = ofInstruments ? [instruments, instrumentEvents] : [instrumentEvents];
  const { maxMessageBytes } = await kafka.ensureTopics(written, { create: false });
  const limitBytes = Math.min(...written.map(({ name }) => maxMessageBytes.get(name) ?? 0));
  return {
    targets,
    common: {
      onMismatch: settings.mapping.onMismatch,
      maxValueBytes: limitBytes - RECORD_ALLOWANCE_BYTES,
      clock,
    },
    async schemaOf(name: SchemaName, topic: { readonly name: string }) {
      const schema = readSchemaText(name);
      return { schema, schemaId: await registry.schemaId(`${topic.name}-value`, schema, signal) };
    },
  };
}

/** The input as the only element of a response. */
async function* listOf(listKey: string, input: Buffer): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`{"${listKey}":[`);
  yield input;
  yield Buffer.from(']}');
}

interface Failure {
  readonly kind: string;
  readonly pointer?: string;
  readonly reason?: string;
}

function unmapped(rows: readonly Failure[]): RereadLetter | null {
  const failure = rows.find(({ kind }) => kind === 'failure');
  return failure ? impossible(`it cannot be mapped at ${failure.pointer || '/'}: ${failure.reason}`) : null;
}

function impossible(why: string): RereadLetter {
  return { kind: 'impossible', why };
}

function headersOf({ id, headers }: DeadLetter): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => PROVENANCE.includes(name));
  return { ...Object.fromEntries(kept), [DEAD_LETTER_HEADER]: id };
}
