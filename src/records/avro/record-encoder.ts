import { avscType } from './avsc-type.ts';
import type { SchemaRegistry } from './registry.ts';
import { parseSchema } from './schema.ts';
import { readSchemaText } from './schema-files.ts';
import { WIRE_HEADER_BYTES, writeWireHeader } from './wire-format.ts';

/** Encodes records in Confluent's wire format. Exported for tests. */
export function createRecordEncoder(schemaText: string, schemaId: number): (record: AvroRecord) => Buffer {
  const type = avscType(schemaText);
  const header = Buffer.alloc(WIRE_HEADER_BYTES);
  writeWireHeader(header, schemaId);
  return (record) => Buffer.concat([header, type.toBuffer(record)]);
}

/** Decimals are unscaled bytes, dates are days, moments are milli- or microseconds, and longs are bigints. */
export type ScalarValue = boolean | number | bigint | string | Buffer;

export interface AvroRecord {
  readonly [field: string]: AvroValue;
}
export type AvroValue = null | ScalarValue | readonly AvroValue[] | AvroRecord;

/** The content of a notification, with the fields of its schema. Moments are milliseconds since 1970. */
export type NotificationContent = {
  readonly source: string;
  readonly kind: string;
  readonly at: number;
  readonly message: string;
} & { readonly [Field in Count | Moment]?: number | null } & { readonly [Field in Text]?: string | null };

type Count = 'walk' | 'added' | 'corrected' | 'unchanged' | 'gone' | 'reEncoded' | 'dead' | 'known';
type Moment = 'walkStartedAt' | 'gapFrom' | 'gapTo';
type Text = 'gapSinceFrom' | 'gapSinceTo' | 'why' | 'lost' | 'filterFrom' | 'filterTo' | 'errorCode';

/** Throws if a number does not fit its integer field; this is a bug, because our own code creates notifications. */
export type EncodeNotification = (notification: NotificationContent) => Buffer;

/** Creates the encoder for one topic of notifications. @throws the errors of the registry's `schemaId` */
export async function notificationEncoder(
  registry: Pick<SchemaRegistry, 'schemaId'>,
  topic: { readonly name: string },
  signal: AbortSignal,
): Promise<EncodeNotification> {
  const schema = readSchemaText('Notification');
  const encode = createRecordEncoder(schema, await registry.schemaId(`${topic.name}-value`, schema, signal));
  const names = parseSchema(schema).fields.map(({ name }) => name) as readonly (keyof NotificationContent)[];
  return (notification) => {
    const entries = names.map((name) => [name, wellFormed(notification[name] ?? null)] as const);
    return encode(Object.fromEntries(entries));
  };
}

// A notification can quote text of the provider. This text can have a lone surrogate, which has no UTF-8 form.
function wellFormed(value: string | number | null): string | number | null {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
