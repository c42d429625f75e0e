// An item of a bulk response: what it says of itself before anything is written, and what it becomes.
import type { JsonValue } from '../json/exact-json.ts';
import type { DecodedPrice, PricedInstrument } from './priced.ts';

/** What an item of a bulk response says of itself. */
export interface ItemHead {
  /** In its responseIdentifier. */
  readonly isin: string | null;
  /** Whether it has a response and no error. */
  readonly isPriced: boolean;
  /** The $type of the response. */
  readonly type: string | null;
}

export type PriceItem =
  | {
      readonly kind: 'prices';
      /** One snapshot, or the windows of a series; of a window that is sent twice the last one counts. */
      readonly records: readonly DecodedPrice[];
      /** Null for series, and when it was not sent. */
      readonly isQuotingPulled: boolean | null;
      readonly driftFields: number;
      readonly roundedNumbers: number;
    }
  /** No response, or an error beside it. */
  | { readonly kind: 'problem'; readonly problem: JsonValue; readonly item: Buffer; readonly driftFields: number }
  /** A field of the wrong type, at this pointer from the item. */
  | {
      readonly kind: 'unusable';
      readonly pointer: string;
      readonly reason: string;
      readonly item: Buffer;
      readonly driftFields: number;
    };

/** What belongs to one response. */
export interface PriceAnswerContext {
  /** In milliseconds since the epoch, by our clock. */
  readonly requestedAtMs: number;
  readonly receivedAtMs: number;
  /** The isin that is expected in the item at a position, so that no text is made of it where it stands there. */
  readonly isinAt: (position: number) => string | undefined;
  /** Which instrument the item at a position is about; throws when it was not requested. Null: it is not an object. */
  readonly instrumentOf: (position: number, head: ItemHead | null) => PricedInstrument;
}
