import type { PricedInstrumentReader } from '../avro/priced-instrument-reader.ts';
import { ConnectorError } from '../errors.ts';
import { isIntegerKey } from '../json/row-key.ts';
import type { CommittedRecord } from '../kafka/record.ts';
import type { InstrumentNews } from './core/core-messages.ts';

/** A record of an instruments topic, read. */
export interface ReadInstrument {
  /** The instrument's id; of a record without one, a name that no other record has. */
  readonly id: string;
  readonly news: InstrumentNews;
}

/** What a record of an instruments topic says, or the id of a schema that is to be loaded first. Never throws. */
export function readInstrument(
  record: Pick<CommittedRecord, 'key' | 'value' | 'offset'>,
  instrumentReader: PricedInstrumentReader,
): ReadInstrument | { readonly unknownSchemaId: number } {
  const key = record.key === null ? null : record.key.toString('utf8');
  const { value } = record;
  if (key === null || !isIntegerKey(key)) {
    const reason = 'the key is no id of an instrument';
    const news: InstrumentNews = { kind: 'unreadable', key, value: value ?? Buffer.alloc(0), reason };
    return { id: `at ${record.offset}`, news };
  }
  if (value === null) return { id: key, news: { kind: 'gone' } };
  try {
    const read = instrumentReader.read(value);
    if ('unknownSchemaId' in read) return read;
    const { isin, ...terms } = read;
    return { id: key, news: { kind: 'live', isin, terms } };
  } catch (error) {
    if (!(error instanceof ConnectorError)) throw error;
    const { missingSchemaId } = error.fields;
    const news: InstrumentNews = { kind: 'unreadable', key, value, reason: error.message };
    return { id: key, news: typeof missingSchemaId === 'number' ? { ...news, missingSchemaId } : news };
  }
}
