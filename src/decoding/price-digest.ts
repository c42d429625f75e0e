// Recognises, from what is on the topic of a series, the prices that were already written. `price-decoder.ts` gives the same
// digest for a price that it has just read; equal digests mean that nothing but our two moments differs.
import { avscType } from '../avro/avsc-type.ts';
import { recordDigest } from '../avro/record-digest.ts';
import { readWireValue, WIRE_HEADER_BYTES } from '../avro/wire-format.ts';
import type { AskedPrices } from '../config/price-kinds/all.ts';
import { ConnectorError } from '../errors.ts';
import { priceContentsSchema } from './priced.ts';

/**
 * The digest of a price that was written, as `DecodedPrice` has it: of all but the two moments, which come last.
 *
 * @returns a function that gives null for a value of another schema, whose content counts as different: after a new
 *   version of the schema everything is written once more. It throws ConnectorError RECORD_UNREADABLE for other values.
 */
export function createPriceDigest(kind: AskedPrices['kind'], schemaId: number): (value: Buffer) => bigint | null {
  const contents = avscType(priceContentsSchema(kind));
  return (value) => {
    const { schemaId: id, body } = readWireValue(value);
    if (id !== schemaId) return null;
    return recordDigest(value.subarray(0, WIRE_HEADER_BYTES + endOf(contents, body)));
  };
}

/** Where the contents end. */
function endOf(contents: ReturnType<typeof avscType>, body: Buffer): number {
  const unreadable = (cause?: unknown) =>
    new ConnectorError('RECORD_UNREADABLE', `A value holds ${body.length} bytes that are not a price.`, { cause });
  try {
    const { offset } = contents.decode(body, 0);
    if (offset >= 0) return offset;
  } catch (cause) {
    throw unreadable(cause);
  }
  throw unreadable();
}
