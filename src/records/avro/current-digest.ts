import type avsc from 'avsc';
import { ConnectorError } from '../../errors.ts';
import { avscType } from './avsc-type.ts';
import { recordDigest } from './record-digest.ts';
import { isSchemaNotFound } from './registry.ts';
import { readWireValue, WIRE_HEADER_BYTES } from './wire-format.ts';

const MOST_SCHEMAS = 1_000;

interface CurrentDigest {
  /** The `recordDigest` that the record would have in the current schema. */
  readonly digest: bigint;
  readonly isCurrentSchema: boolean;
}

/** Digests of records that may have been written by earlier versions of a schema. */
export interface CurrentDigests {
  /**
   * @returns the digest, or the id of a schema that must be loaded first.
   * @throws ConnectorError RECORD_UNREADABLE for a value that is not a record of this kind.
   */
  of(value: Buffer): CurrentDigest | { readonly unknownSchemaId: number };
  /** @throws ConnectorError of the registry when it did not answer; "no such schema" is a response. */
  load(schemaId: number): Promise<void>;
}

/**
 * @param schema the text of the current schema
 * @param schemaText gives the schema of another id, from the registry; asked once for each
 */
export function createCurrentDigests(options: {
  readonly schema: string;
  readonly schemaId: number;
  readonly schemaText: (schemaId: number) => Promise<string>;
}): CurrentDigests {
  const { schemaId, schemaText } = options;
  const current = avscType(options.schema);
  // Null: a schema that cannot be read as ours. There is an id for each version, and for each of other writers to the topic.
  const resolvers = new Map<number, avsc.Resolver | null>();

  async function resolverOf(id: number): Promise<avsc.Resolver | null> {
    try {
      return current.createResolver(avscType(await schemaText(id))) as avsc.Resolver;
    } catch (error) {
      if (!(error instanceof ConnectorError) || isSchemaNotFound(error)) return null;
      throw error;
    }
  }

  function reEncoded(id: number, body: Buffer, resolver: avsc.Resolver): CurrentDigest {
    try {
      const record: unknown = current.fromBuffer(body, resolver);
      const header = Buffer.alloc(WIRE_HEADER_BYTES);
      return { digest: recordDigest(Buffer.concat([header, current.toBuffer(record)])), isCurrentSchema: false };
    } catch (cause) {
      throw unreadable(`its ${body.length} bytes are not a record of schema id ${id}`, cause);
    }
  }

  return {
    of(value) {
      const { schemaId: id, body } = readWireValue(value);
      if (id === schemaId) return { digest: recordDigest(value), isCurrentSchema: true };
      const resolver = resolvers.get(id);
      if (resolver === undefined) return { unknownSchemaId: id };
      if (resolver === null) throw unreadable(`it names schema id ${id}, which belongs to other records`);
      return reEncoded(id, body, resolver);
    },
    async load(id) {
      resolvers.set(id, await resolverOf(id));
    },
  };
}

function unreadable(why: string, cause?: unknown): ConnectorError {
  return new ConnectorError('RECORD_UNREADABLE', `A record cannot be compared: ${why}.`, { cause });
}

/** Ends a reading at the first record whose schema is not loaded: loading takes a response, and records come without pause. */
export class MissingSchema extends Error {
  readonly schemaId: number;

  constructor(schemaId: number) {
    super(`schema id ${schemaId} is not loaded`);
    this.schemaId = schemaId;
  }
}

/** Reads until no schema is missing: after each MissingSchema it is loaded, and the reading begins again. */
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
