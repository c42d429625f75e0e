import { hash } from 'node:crypto';
import { readWireValue } from './wire-format.ts';

/**
 * Eight bytes that stand for the content of a record: of its Avro body, without the header, so that a new schema id
 * alone changes nothing. They are the first of a SHA-256, which costs no more here than a plain checksum in JavaScript
 * (4 µs for an instrument, 3 % of decoding it); two contents of one id look equal once in 2^64 changes.
 *
 * @param value a value in Confluent's wire format
 * @returns an unsigned number of 64 bits
 * @throws ConnectorError RECORD_UNREADABLE for a value that is not in the wire format
 */
export function recordDigest(value: Buffer): bigint {
  return hash('sha256', readWireValue(value).body, 'buffer').readBigUInt64BE(0);
}
