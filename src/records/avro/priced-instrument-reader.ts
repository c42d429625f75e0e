import type avsc from 'avsc';
import { ConnectorError } from '../../errors.ts';
import { avscType } from './avsc-type.ts';
import type { InstrumentTerms } from './instrument-terms.ts';
import { isSchemaNotFound } from './registry.ts';
import { readWireValue } from './wire-format.ts';

export interface PricedTerms extends InstrumentTerms {
  readonly isin: string | null;
}

/** Reads only what prices need of instruments: a table of many instruments is filled a hundred times as fast. */
export interface PricedInstrumentReader {
  /**
   * @returns the isin (null for an instrument without one) and the terms, or the id of a schema that must be loaded
   * first.
   * @throws ConnectorError RECORD_UNREADABLE for a value that is not an instrument; with `fields.missingSchemaId` when
   * the registry had no such schema of instruments at the last request.
   */
  read(value: Buffer): PricedTerms | { readonly unknownSchemaId: number };
  /**
   * Asks the registry, also for a schema that it lacked before: it may have been replaced, or restored, meanwhile.
   * @returns whether it is a schema of instruments.
   * @throws ConnectorError of the registry when it did not answer; "no such schema" is a response.
   */
  load(schemaId: number, signal: AbortSignal): Promise<boolean>;
}

/** The part that is read of an instrument's schema of any version. */
const READ = JSON.stringify({
  type: 'record',
  name: 'Instrument',
  namespace: 'io.structuredproducts.connect',
  fields: [
    { name: 'isin', type: ['null', 'string'], default: null },
    { name: 'currency', type: ['null', 'string'], default: null },
    { name: 'priceType', type: ['null', 'string'], default: null },
    { name: 'repaymentDate', type: ['null', { type: 'int', logicalType: 'date' }], default: null },
  ],
});

interface Writer {
  readonly resolver: avsc.Resolver;
}

export function createPricedInstrumentReader(
  schemaText: (schemaId: number, signal: AbortSignal) => Promise<string>,
): PricedInstrumentReader {
  const type = avscType(READ);
  // Null: not a schema of instruments. There is an id for each version, and for each of other writers to the topic.
  const writers = new Map<number, Writer | null>();
  return {
    read(value) {
      const { schemaId, body } = readWireValue(value);
      const writer = writers.get(schemaId);
      if (writer === undefined) return { unknownSchemaId: schemaId };
      if (writer === null) {
        const missing = `it names schema id ${schemaId}, and the registry has no schema of instruments under it`;
        throw unreadable(missing, { fields: { missingSchemaId: schemaId } });
      }
      try {
        const found: { readonly repaymentDate: number | null } & Omit<PricedTerms, 'repaymentDay'> = type.fromBuffer(
          body,
          writer.resolver,
          true,
        );
        const { isin, currency, priceType, repaymentDate } = found;
        return { isin: isin === '' ? null : isin, currency, priceType, repaymentDay: repaymentDate };
      } catch (cause) {
        throw unreadable(`its ${body.length} bytes are not a record of schema id ${schemaId}`, { cause });
      }
    },
    async load(schemaId, signal) {
      const writer = await writerOf(type, () => schemaText(schemaId, signal));
      writers.set(schemaId, writer);
      return writer !== null;
    },
  };
}

async function writerOf(type: avsc.Type, text: () => Promise<string>): Promise<Writer | null> {
  try {
    const schema = await text();
    return { resolver: type.createResolver(avscType(schema)) as avsc.Resolver };
  } catch (error) {
    if (!(error instanceof ConnectorError) || isSchemaNotFound(error)) return null;
    throw error;
  }
}

function unreadable(why: string, options: ConstructorParameters<typeof ConnectorError>[2]): ConnectorError {
  return new ConnectorError('RECORD_UNREADABLE', `A record of instruments cannot be read: ${why}.`, options);
}
