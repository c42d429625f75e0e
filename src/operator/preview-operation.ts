import type { ReadableValue } from '../avro/record-reader.ts';
import { type Settings, type SourceSettings, type SourceSettingsOf, topicOf } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { HttpClient } from '../http/client.ts';
import { createReferenceDataHttp } from '../setup/provider-client.ts';
import { systemClock } from '../support/clock.ts';
import { silentLog } from '../support/log.ts';
import { systemRandom } from '../support/system-random.ts';
import { unregisteredChecks, unregisteredInstruments, unregisteredReader } from './unregistered-provider.ts';

/** A record that the source would write. */
export interface PreviewedRecord {
  readonly topic: string;
  readonly key: string | null;
  /** For a dead letter, the input's text; null where it would have none. */
  readonly value: ReadableValue;
  /** Why the input would be a dead letter, and where in it the problem is; null for a record. */
  readonly deadLetter: { readonly pointer: string; readonly reason: string } | null;
}

export interface PreviewRequest {
  readonly settings: Settings;
  readonly source: SourceSettings;
  /** An id of the list, or an offset of the stream; null for the first page. */
  readonly from: string | null;
  /** Rows, events or checks at most. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

const ID = /^\d{1,19}$/;

/**
 * Asks the provider for one page as the source would, and gives the records that it would make of it, dead letters
 * among them. Neither Kafka nor the registry is asked.
 *
 * @throws ConnectorError as the provider's client does.
 */
export async function preview(request: PreviewRequest): Promise<readonly PreviewedRecord[]> {
  const { settings, source } = request;
  const deps = { clock: systemClock, random: systemRandom, log: silentLog };
  const http = await createReferenceDataHttp(settings.referenceData, deps);
  try {
    if (source.type === 'pre-trade-checks') return await previewChecks(request, source, http);
    const ofList = source.type === 'instruments' && (request.from === null || ID.test(request.from));
    return ofList ? await previewList(request, source, http) : await previewEvents(request, source, http);
  } finally {
    await http.close();
  }
}

async function previewList(
  { settings, from, limit, signal }: PreviewRequest,
  source: SourceSettingsOf<'instruments'>,
  http: HttpClient,
): Promise<readonly PreviewedRecord[]> {
  const { provider } = unregisteredInstruments({ settings, http }, source, limit);
  const reader = unregisteredReader('Instrument');
  const topic = topicOf(settings, source.topics.instruments);
  const { decoded } = await provider.page(from, signal);
  return decoded.rows
    .slice(0, limit)
    .map((row) =>
      row.kind === 'failure'
        ? deadLetter(settings, row)
        : { topic, key: row.key, value: reader.read(row.value), deadLetter: null },
    );
}

async function previewEvents(
  { settings, from, limit, signal }: PreviewRequest,
  source: SourceSettingsOf<'instruments' | 'events'>,
  http: HttpClient,
): Promise<readonly PreviewedRecord[]> {
  const { provider } = unregisteredInstruments({ settings, http }, source, limit);
  const since = from ?? (await provider.start(signal)).since;
  const outcome = await provider.after(since, signal);
  if (outcome.kind === 'refused') {
    throw new ConnectorError(
      'PROVIDER_REFUSED',
      `The provider refused the offset of the stream (status ${outcome.status}): it has expired, or is none. Use a newer one as --from, or an id of the list.`,
    );
  }
  const [events, instruments] = [unregisteredReader('InstrumentEvent'), unregisteredReader('Instrument')];
  const eventsTopic = topicOf(settings, source.topics['instrument-events']);
  const instrumentsTopic = source.type === 'instruments' ? topicOf(settings, source.topics.instruments) : null;
  return outcome.answer.decoded.rows.slice(0, limit).flatMap((row): PreviewedRecord[] => {
    if (row.kind === 'failure') return [deadLetter(settings, row)];
    const event = { topic: eventsTopic, key: row.key, value: events.read(row.eventValue), deadLetter: null };
    if (instrumentsTopic === null || source.type !== 'instruments') return [event];
    const isGone = row.type !== null && source.deleteOnEventTypes.includes(row.type);
    const value = isGone ? null : instruments.read(row.instrumentValue);
    return [event, { topic: instrumentsTopic, key: row.key, value, deadLetter: null }];
  });
}

async function previewChecks(
  { settings, from, limit, signal }: PreviewRequest,
  source: SourceSettingsOf<'pre-trade-checks'>,
  http: HttpClient,
): Promise<readonly PreviewedRecord[]> {
  const outcome = await unregisteredChecks({ settings, http }).stream.after(from, signal);
  if (outcome.kind === 'refused') {
    throw new ConnectorError(
      'PROVIDER_REFUSED',
      `The provider refused the offset of the checks (status ${outcome.status}): it has expired, or is none. Use a newer one as --from, or none.`,
    );
  }
  const reader = unregisteredReader('PreTradeCheck');
  const topic = topicOf(settings, source.topics['pre-trade-checks']);
  return outcome.answer.decoded.rows
    .slice(0, limit)
    .map((row) =>
      row.kind === 'failure'
        ? { ...deadLetter(settings, row), value: null }
        : { topic, key: row.key, value: reader.read(row.value), deadLetter: null },
    );
}

function deadLetter(
  settings: Settings,
  row: { readonly key: string | null; readonly pointer: string; readonly reason: string; readonly raw: Buffer },
): PreviewedRecord {
  const { key, pointer, reason, raw } = row;
  const topic = topicOf(settings, settings.topics.names['dead-letters']);
  return { topic, key, value: raw.toString(), deadLetter: { pointer, reason } };
}
