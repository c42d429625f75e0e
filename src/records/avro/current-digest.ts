import type avsc from 'avsc';
import { ConnectorError } from '../../errors.ts';
import { avscType } from './avsc-type.ts';
import { recordDigest } from './record-digest.ts';
import { isSchemaNotFound } from './registry.ts';
import { readWireValue, WIRE_HEADER_BYTES } from './wire-format.ts';

const MOST_SCHEMAS = 1_000;

export interface UnknownSchema {
  readonly unknownSchemaId: number;
}

/** Reads records of one type, also if a record was written with an earlier or later schema of the registry. */
export class WrittenRecords {
  readonly #type: avsc.Type;
  // The resolver of each schema id; null if the registry has no such schema, or if the schema describes other records.
  readonly #resolvers = new Map<number, avsc.Resolver | null>();

  constructor(type: avsc.Type) {
    this.#type = type;
  }

  /**
   * Returns the id of the value's schema if `load` must be called first. If `lazy`, bytes may follow the fields that are read.
   * @throws ConnectorError RECORD_UNREADABLE for a value that is not a record of this type. If the last `load` found no
   * schema of this type with the value's schema id, `fields.missingSchemaId` is this id.
   */
  read(value: Buffer, lazy = false): { readonly record: unknown } | UnknownSchema {
    const { schemaId, body } = readWireValue(value);
    const resolver = this.#resolvers.get(schemaId);
    if (resolver === undefined) return { unknownSchemaId: schemaId };
    if (resolver === null) {
      throw unreadable(
        `its schema id is ${schemaId}, and the registry has no schema of this record type with this id`,
        {
          fields: { missingSchemaId: schemaId },
        },
      );
    }
    try {
      return { record: this.#type.fromBuffer(body, resolver, lazy) };
    } catch (cause) {
      throw unreadable(`its ${body.length} bytes are not a record of schema id ${schemaId}`, { cause });
    }
  }

  /**
   * Requests the schema again on each call, because the registry may have been replaced or restored.
   * @returns false if the registry has no schema with this id, or if its schema describes other records
   * @throws ConnectorError if the registry did not answer
   */
  async load(schemaId: number, text: () => Promise<string>): Promise<boolean> {
    const resolver = await this.#resolverOf(text);
    this.#resolvers.set(schemaId, resolver);
    return resolver !== null;
  }

  async #resolverOf(text: () => Promise<string>): Promise<avsc.Resolver | null> {
    try {
      return this.#type.createResolver(avscType(await text())) as avsc.Resolver;
    } catch (error) {
      if (!(error instanceof ConnectorError) || isSchemaNotFound(error)) return null;
      throw error;
    }
  }
}

function unreadable(why: string, options: ConstructorParameters<typeof ConnectorError>[2]): ConnectorError {
  return new ConnectorError('RECORD_UNREADABLE', `A record cannot be read: ${why}.`, options);
}

/** Computes digests, also of records with an earlier version of the schema. Throws the errors of `WrittenRecords`. */
export interface CurrentDigests {
  of(value: Buffer): { readonly digest: bigint; readonly isCurrentSchema: boolean } | UnknownSchema;
  load(schemaId: number): Promise<unknown>;
}

export function createCurrentDigests(options: {
  readonly schema: string;
  readonly schemaId: number;
  readonly schemaText: (schemaId: number) => Promise<string>;
}): CurrentDigests {
  const { schemaId, schemaText } = options;
  const current = avscType(options.schema);
  const written = new WrittenRecords(current);
  return {
    of(value) {
      if (readWireValue(value).schemaId === schemaId) return { digest: recordDigest(value), isCurrentSchema: true };
      const read = written.read(value);
      if ('unknownSchemaId' in read) return read;
      const header = Buffer.alloc(WIRE_HEADER_BYTES);
      const again = Buffer.concat([header, current.toBuffer(read.record)]);
      return { digest: recordDigest(again), isCurrentSchema: false };
    },
    load: (id) => written.load(id, () => schemaText(id)),
  };
}

/** Ends a read at the first record whose schema is not loaded: loading needs a request, and a read cannot pause. */
export class MissingSchema extends Error {
  readonly schemaId: number;

  constructor(schemaId: number) {
    super(`schema id ${schemaId} is not loaded`);
    this.schemaId = schemaId;
  }
}

/** Reads until no schema is missing. After each MissingSchema, loads that schema and starts the read again. */
export async function readWithSchemas<Found>(
  read: () => Promise<Found>,
  load: (schemaId: number) => Promise<unknown>,
): Promise<Found> {
  for (let schemas = 0; schemas < MOST_SCHEMAS; schemas++) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof MissingSchema)) throw error;
      await load(error.schemaId);
    }
  }
  throw new Error(`The records name more than ${MOST_SCHEMAS} schemas.`);
}
