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

/** The values of leaves: decimals are unscaled bytes, dates days, date-times milliseconds or microseconds, longs bigints. */
export type ScalarValue = boolean | number | bigint | string | Buffer;

export interface AvroRecord {
  readonly [field: string]: AvroValue;
}
export type AvroValue = null | ScalarValue | readonly AvroValue[] | AvroRecord;

/** The content of a notification, by the fields of its schema. Moments are milliseconds since 1970. */
export type NotificationContent = {
  readonly source: string;
  readonly kind: string;
  readonly at: number;
  readonly message: string;
} & { readonly [Field in Count | Moment]?: number | null } & { readonly [Field in Text]?: string | null };

type Count = 'walk' | 'added' | 'corrected' | 'unchanged' | 'gone' | 'reEncoded' | 'dead' | 'known';
type Moment = 'walkStartedAt' | 'gapFrom' | 'gapTo';
type Text = 'gapSinceFrom' | 'gapSinceTo' | 'why' | 'lost' | 'filterFrom' | 'filterTo' | 'errorCode';

/** Throws for a number that is not an integer of its field: we make notifications, so it is a bug. */
export type EncodeNotification = (notification: NotificationContent) => Buffer;

/** For one topic of notifications. @throws ConnectorError as `schemaId` of the registry. */
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

// A text may hold what the provider sent, and a lone surrogate has no UTF-8.
function wellFormed(value: string | number | null): string | number | null {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
