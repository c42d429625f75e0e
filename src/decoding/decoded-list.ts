// The results of decoders of bodies with a list, and how they treat a field of the wrong type.
import type { JsonValue } from '../json/exact-json.ts';

/** An element of a response that could not become a record, and why. */
export interface DecodedFailure {
  readonly kind: 'failure';
  /** The key that its record would have had; null when it cannot be read. */
  readonly key: string | null;
  /** A JSON pointer from the element, in the schema's spelling: /issuePrice. */
  readonly pointer: string;
  /** Never quotes a value. */
  readonly reason: string;
  /** Whether its size is the reason; otherwise its content does not fit the schema. */
  readonly tooLarge: boolean;
  /** The element's bytes as they came. */
  readonly raw: Buffer;
}

/** The content of a response's body with a list. */
export interface DecodedList<Row> {
  /** In the order in which they came. */
  readonly rows: readonly Row[];
  /** Every other member of the response: links, nextId and so on. */
  readonly envelope: ReadonlyMap<string, JsonValue>;
  /** The length of the body. */
  readonly bytes: number;
  /** Keys that appeared again in their object; the last one counts. */
  readonly duplicateKeys: number;
}

/** What a field of the wrong type does: it makes its record a dead letter, or becomes null and is kept in extras. */
export type OnMismatch = 'deadLetter' | 'keepInExtras';
