import type avsc from 'avsc';
import { avscType } from './avsc-type.ts';
import { recordDigest } from './record-digest.ts';
import { readWireValue, WIRE_HEADER_BYTES } from './wire-format.ts';

export interface CurrentDigest {
  /** As `recordDigest` would give it, had the record been written in the current schema. */
  readonly digest: bigint;
  readonly isCurrentSchema: boolean;
}

/** Digests of records that may have been written by earlier versions of a schema. */
export interface CurrentDigests {
  /** @throws ConnectorError RECORD_UNREADABLE, and what `schemaText` throws. */
  of(value: Buffer): Promise<CurrentDigest> | CurrentDigest;
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
  const writers = new Map<number, Promise<{ readonly type: avsc.Type; readonly resolver: object }>>();

  async function writer(id: number) {
    const type = avscType(await schemaText(id));
    return { type, resolver: current.createResolver(type) };
  }

  async function reEncoded(id: number, body: Buffer): Promise<CurrentDigest> {
    let known = writers.get(id);
    if (known === undefined) {
      known = writer(id);
      writers.set(id, known);
      // A registry that did not answer is asked again.
      known.catch(() => writers.delete(id));
    }
    const { resolver } = await known;
    const record: unknown = current.fromBuffer(body, resolver as avsc.Resolver);
    const header = Buffer.alloc(WIRE_HEADER_BYTES);
    return { digest: recordDigest(Buffer.concat([header, current.toBuffer(record)])), isCurrentSchema: false };
  }

  return {
    of(value) {
      const { schemaId: id, body } = readWireValue(value);
      return id === schemaId ? { digest: recordDigest(value), isCurrentSchema: true } : reEncoded(id, body);
    },
  };
}
