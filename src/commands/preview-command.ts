import { type Settings, type SourceSettings, topicOf } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { schemaNameOf } from '../kafka/topic-plan.ts';
import { knownSource, loadWithoutKafka } from './command-settings.ts';
import { atProvider, sessionReader } from './provider-session.ts';
import { jsonLine } from './shell/output.ts';
import { recordText, withoutUrlIn } from './shell/record-text.ts';
import type { CommandContext } from './shell/terminal.ts';

interface PreviewOptions {
  /** An id of the list, or an offset of the stream. */
  readonly from?: string;
  readonly limit: number;
  readonly showUrl: boolean;
}

export async function previewCommand(context: CommandContext, options: PreviewOptions, name: string): Promise<void> {
  const { stdout, stderr, signal, output } = context;
  const { from = null, showUrl } = options;
  const limit = Math.max(options.limit, 1);
  const settings = await loadWithoutKafka(context);
  const source = knownSource(context, name, settings.sources);
  const records = await atProvider({ settings, signal }, (session) =>
    session.open(source, limit).preview(from, limit, signal).catch(refusedOptions),
  );
  const format = output === 'json' ? jsonLine : recordText;
  const read = previewReader(settings, source);
  for (const record of records.map(read)) stdout.write(format(showUrl ? record : withoutUrlIn(record)));
  if (records.length === 0) stderr.write('The provider has no rows, events or checks at this position.\n');
}

/**
 * The connector would request fewer rows. This command sends exactly the given options. The token endpoint can also
 * answer 400, but this is not a refusal of the options.
 */
function refusedOptions(error: unknown): never {
  if (!(error instanceof ConnectorError)) throw error;
  const { code, fields } = error;
  if (code !== 'PROVIDER_ASKS_FOR_LESS' && !(code === 'PROVIDER_REFUSED' && fields.status === 400)) throw error;
  const text = `${error.message} Use a smaller --limit, or another --from.`;
  throw new ConnectorError(code, text, { cause: error, fields });
}

/** Reads a record that the source would write. The value of a dead letter is the text of its input. */
function previewReader(settings: Settings, source: SourceSettings) {
  const roles = Object.entries(source.topics) as [keyof Settings['topics']['names'], string][];
  const readers = new Map(
    roles.flatMap(([role, name]) => {
      const schema = schemaNameOf(role);
      return schema === null ? [] : [[topicOf(settings, name), sessionReader(schema)] as const];
    }),
  );
  return ({ topic, key, value, headers }: OutgoingRecord) => {
    const shown = { topic, key: key === null ? null : key.toString() };
    const reader = readers.get(topic);
    if (reader !== undefined) return { ...shown, value: value && reader.read(value), deadLetter: null };
    const { 'spc-pointer': pointer = '', '__connect.errors.exception.message': reason = '' } = headers;
    // The dead letter of a pre-trade check has no input, because anyone with this input can trade.
    return { ...shown, value: value?.length ? value.toString() : null, deadLetter: { pointer, reason } };
  };
}
