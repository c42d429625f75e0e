import type { Notification } from './generated/notification.ts';
import { RecordEncoder } from './record-encoder.ts';
import { parseSchema } from './schema.ts';

/** The content of a notification: at least the source, what happened, when (milliseconds since 1970), and a text. */
export type NotificationContent = Partial<Notification> & {
  readonly source: string;
  readonly kind: string;
  readonly at: number;
  readonly message: string;
};

/** Notifications into Confluent's wire format. */
export interface NotificationEncoder {
  /** @throws Error for a number that is not an integer of its field: we make notifications, so it is a bug. */
  encode(notification: NotificationContent): Buffer;
}

/** @param options the text of the schema Notification, and its id in the registry */
export function createNotificationEncoder(options: {
  readonly schema: string;
  readonly schemaId: number;
}): NotificationEncoder {
  const encoder = new RecordEncoder(options.schema, options.schemaId);
  const names = parseSchema(options.schema).fields.map(({ name }) => name) as readonly (keyof Notification)[];
  return {
    encode(notification) {
      const entries = names.map((name) => [name, wellFormed(notification[name] ?? null)] as const);
      return encoder.encode(Object.fromEntries(entries));
    },
  };
}

// A text may hold what the provider sent, and a lone surrogate has no UTF-8.
function wellFormed(value: string | number | null): string | number | null {
  return typeof value === 'string' ? value.toWellFormed() : value;
}
