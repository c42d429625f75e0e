import { type Settings, type SourceSettings, topicOf } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { ReadableValue } from '../records/avro/record-reader.ts';
import type { SchemaName } from '../records/avro/schema-files.ts';
import type { DecodedFailure } from '../records/decoding/decoded-list.ts';
import type { FollowedOutcome } from '../sources/tasks/followed-stream.ts';
import { knownSource, loadWithoutKafka } from './command-settings.ts';
import { atProvider, type ProviderSession, sessionReader } from './provider-session.ts';
import { jsonLine } from './shell/output.ts';
import { recordText, withoutUrlIn } from './shell/record-text.ts';
import type { CommandContext } from './shell/terminal.ts';

interface PreviewOptions {
  /** An id of the list, or an offset of the stream. */
  readonly from?: string;
  readonly limit: number;
  readonly showUrl: boolean;
}

/** A record that the source would write; the value of a dead letter is the input's text. */
interface PreviewedRecord {
  readonly topic: string;
  readonly key: string | null;
  readonly value: ReadableValue;
  readonly deadLetter: { readonly pointer: string; readonly reason: string } | null;
}

const ID = /^\d{1,19}$/;

/** `preview`: the records of one page of the provider, without Kafka and registry. */
export async function previewCommand(context: CommandContext, options: PreviewOptions, name: string): Promise<void> {
  const { stdout, stderr, signal, output } = context;
  const { from = null, showUrl } = options;
  const limit = Math.max(options.limit, 1);
  const settings = await loadWithoutKafka(context);
  const source = knownSource(context, name, settings.sources);
  const records = await atProvider({ settings, signal }, (session) =>
    previewed(session, { settings, source, from, limit, signal }),
  );
  const format = output === 'json' ? jsonLine : recordText;
  for (const record of records) stdout.write(format(showUrl ? record : withoutUrlIn(record)));
  if (records.length === 0) stderr.write('The provider has no rows, events or checks there now.\n');
}

type ValueRow = DecodedFailure | { readonly kind: 'record'; readonly key: string; readonly value: Buffer };

interface PreviewRequest {
  readonly settings: Settings;
  readonly source: SourceSettings;
  readonly from: string | null;
  readonly limit: number;
  readonly signal: AbortSignal;
}

async function previewed(
  session: ProviderSession,
  { settings, source, from, limit, signal }: PreviewRequest,
): Promise<readonly PreviewedRecord[]> {
  const shown = (rows: readonly ValueRow[], topic: string, schema: SchemaName) => {
    const reader = sessionReader(schema);
    return rows
      .slice(0, limit)
      .map((row) =>
        row.kind === 'failure' ? deadLetter(settings, row) : record(topic, row.key, reader.read(row.value)),
      );
  };
  if (source.type === 'pre-trade-checks') {
    const outcome = await session.checks().stream.after(from, signal);
    const { rows } = answerOf(outcome, 'checks', 'Use a newer one as --from, or none.').decoded;
    return shown(rows, topicOf(settings, source.topics['pre-trade-checks']), 'PreTradeCheck');
  }
  const { provider } = session.instruments(source, limit);
  const instruments = source.type === 'instruments' ? topicOf(settings, source.topics.instruments) : null;
  if (instruments !== null && (from === null || ID.test(from))) {
    return shown((await provider.page(from, signal)).decoded.rows, instruments, 'Instrument');
  }
  const outcome = await provider.after(from ?? (await provider.start(signal)).since, signal);
  const { rows } = answerOf(outcome, 'stream', 'Use a newer one as --from, or an id of the list.').decoded;
  const topic = topicOf(settings, source.topics['instrument-events']);
  const [events, reader] = [sessionReader('InstrumentEvent'), sessionReader('Instrument')];
  return rows.slice(0, limit).flatMap((row): PreviewedRecord[] => {
    if (row.kind === 'failure') return [deadLetter(settings, row)];
    const event = record(topic, row.key, events.read(row.eventValue));
    if (instruments === null || source.type !== 'instruments') return [event];
    const isGone = row.type !== null && source.deleteOnEventTypes.includes(row.type);
    return [event, record(instruments, row.key, isGone ? null : reader.read(row.instrumentValue))];
  });
}

function answerOf<Row>(outcome: FollowedOutcome<Row>, what: string, advice: string) {
  if (outcome.kind === 'stream') return outcome.answer;
  const text = `The provider refused the offset of the ${what} (status ${outcome.status}): it has expired, or is none.`;
  throw new ConnectorError('PROVIDER_REFUSED', `${text} ${advice}`);
}

function record(topic: string, key: string, value: ReadableValue): PreviewedRecord {
  return { topic, key, value, deadLetter: null };
}

/** The input of a check allows trading, so a dead letter of one has none. */
function deadLetter(settings: Settings, row: DecodedFailure): PreviewedRecord {
  const { key, pointer, reason, raw } = row;
  const topic = topicOf(settings, settings.topics.names['dead-letters']);
  return { topic, key, value: raw.length === 0 ? null : raw.toString(), deadLetter: { pointer, reason } };
}
