import type avsc from 'avsc';
import { ConnectorError } from '../../errors.ts';
import { avscType } from './avsc-type.ts';
import { decimalText } from './decimal.ts';
import { dateText, instantText, localDateTimeText } from './instant.ts';
import { parseSchema, type RecordNode, type ScalarNode, type SchemaNode } from './schema.ts';
import { readWireValue } from './wire-format.ts';

/** A record as JSON for people: decimals and longs are exact, dates are as sent, instants are in UTC. */
export interface ReadableRecord {
  readonly [field: string]: ReadableValue;
}
export type ReadableValue = null | boolean | number | string | readonly ReadableValue[] | ReadableRecord;

export interface RecordReader {
  /** @throws ConnectorError RECORD_UNREADABLE for a value that is too short, is too long, or has an unknown schema */
  read(value: Buffer): ReadableRecord;
}

/** `schemas` maps ids of the registry to the texts of Avro schemas. */
export function createRecordReader(options: { readonly schemas: ReadonlyMap<number, string> }): RecordReader {
  const known = new Map<number, { readonly node: RecordNode; readonly type: avsc.Type }>();
  for (const [id, text] of options.schemas) known.set(id, { node: parseSchema(text), type: avscType(text) });
  return {
    read(value) {
      const { schemaId, body } = readWireValue(value);
      const schema = known.get(schemaId);
      if (schema === undefined) {
        throw new ConnectorError('RECORD_UNREADABLE', `A value has schema id ${schemaId}, which is unknown here.`);
      }
      return readableRecord(schema.node, decode(schema.type, schemaId, body));
    },
  };
}

function decode(type: avsc.Type, schemaId: number, body: Buffer): unknown {
  try {
    return type.fromBuffer(body);
  } catch (cause) {
    const what = `${body.length} bytes that are not a record of schema id ${schemaId}`;
    throw new ConnectorError('RECORD_UNREADABLE', `A value holds ${what}.`, { cause });
  }
}

function readableRecord(node: RecordNode, decoded: unknown): ReadableRecord {
  const record = decoded as Readonly<Record<string, unknown>>;
  return Object.fromEntries(node.fields.map(({ name, node: field }) => [name, readable(field, record[name])]));
}

function readable(node: SchemaNode, decoded: unknown): ReadableValue {
  switch (node.kind) {
    case 'nullable':
      return decoded === null ? null : readable(node.inner, decoded);
    case 'array':
      return (decoded as readonly unknown[]).map((item) => readable(node.items, item));
    case 'map':
      return Object.fromEntries(
        Object.entries(decoded as object).map(([key, one]) => [key, readable(node.values, one)]),
      );
    case 'record':
      return readableRecord(node, decoded);
    case 'scalar':
      return readableScalar(node, decoded);
  }
}

function readableScalar(node: ScalarNode, decoded: unknown): ReadableValue {
  if (node.logical?.name === 'decimal') return decimalText(decoded as Buffer, node.logical.scale);
  if (node.logical?.name === 'date') return dateText(decoded as number);
  if (node.logical?.name === 'local-timestamp-millis') return localDateTimeText(Number(decoded));
  if (node.logical?.name === 'timestamp-micros') return instantText(decoded as bigint);
  if (node.logical?.name === 'timestamp-millis') return instantText(BigInt(decoded as number) * 1_000n);
  if (node.avro === 'bytes') return (decoded as Buffer).toString('base64');
  return typeof decoded === 'bigint' ? String(decoded) : (decoded as boolean | number | string);
}
