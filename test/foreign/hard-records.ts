import type { CommittedRecord } from '../../src/kafka/record.ts';
import { avscType } from '../../src/records/avro/avsc-type.ts';
import { createRecordReader } from '../../src/records/avro/record-reader.ts';
import { readSchemaText } from '../../src/records/avro/schema-files.ts';
import { readWireValue, WIRE_HEADER_BYTES, writeWireHeader } from '../../src/records/avro/wire-format.ts';
import type { TestKafka } from '../support/kafka/kafka-real.ts';

type Values = readonly { readonly key: string; readonly value: Buffer | null; readonly partition: number }[];

const DECIMAL_BYTES = 16;
const SCALE = 18;
/** The ends of decimal(38,18), the smallest step, zero, and one that no float holds. */
const PRICES = [
  '99999999999999999999.999999999999999999',
  '-99999999999999999999.999999999999999999',
  '0.000000000000000001',
  '-0.000000000000000001',
  '0',
  '90071992547409.930000000000000001',
] as const;

/**
 * Adds what a reader may get wrong to a walked topic of instruments, and reports what is to be read of the keys that it
 * changed: a deletion, records of a later schema (a field more, in the middle) with the hardest decimals, and in the end,
 * in each partition, a page that was dropped: other prices, in a transaction that is aborted.
 */
export async function addHardRecords(
  kafka: TestKafka,
  registryUrl: string,
  walked: readonly CommittedRecord[],
): Promise<ReadonlyMap<string, string | null>> {
  const [gone, ...rest] = walked.flatMap(({ key, value, ...record }) =>
    key === null || value === null ? [] : [{ ...record, key: String(key), value }],
  );
  if (gone === undefined) throw new Error('The topic is empty.');
  const later = await registerLater(registryUrl, `${gone.topic}-value`);
  const changed = PRICES.map((price, index) => {
    const record = rest[index];
    if (record === undefined) throw new Error('The topic holds too few instruments.');
    return { ...record, value: later(record.value, price) };
  });
  const producer = kafka.plain().producer({ transactionalId: `${gone.topic}-hard`, maxInFlightRequests: 1 });
  await producer.connect();
  try {
    const committed = await producer.transaction();
    const send = (values: Values) =>
      values.map(({ key, value, partition }) => ({ key: Buffer.from(key), value, partition }));
    await committed.send({ topic: gone.topic, messages: send([{ ...gone, value: null }, ...changed]) });
    await committed.commit();
    const dropped = await producer.transaction();
    const page = [gone, ...rest].map((record) => ({ ...record, value: later(record.value, '666.5') }));
    await dropped.send({ topic: gone.topic, messages: send(page) });
    await dropped.abort();
  } finally {
    await producer.disconnect();
  }
  return new Map([[gone.key, null], ...changed.map(({ key }, index) => [key, PRICES[index] ?? null] as const)]);
}

/** Registers a schema of one field more, and gives what writes a record again in it, with another issue price. */
async function registerLater(
  registryUrl: string,
  subject: string,
): Promise<(value: Buffer, issuePrice: string) => Buffer> {
  const text = readSchemaText('Instrument');
  const schema = JSON.parse(text);
  schema.fields.splice(1, 0, { name: 'later', type: 'string', default: 'not sent' });
  const response = await fetch(`${registryUrl}/subjects/${subject}/versions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ schema: JSON.stringify(schema) }),
  });
  const { id } = (await response.json()) as { readonly id: number };
  const [from, to] = [avscType(text), avscType(JSON.stringify(schema))];
  const resolver = to.createResolver(from);
  return (value, issuePrice) => {
    const record = to.fromBuffer(readWireValue(value).body, resolver);
    const body = to.toBuffer({ ...record, issuePrice: decimalBytes(issuePrice) });
    const written = Buffer.concat([Buffer.alloc(WIRE_HEADER_BYTES), body]);
    writeWireHeader(written, id);
    return written;
  };
}

function decimalBytes(text: string): Buffer {
  const [whole = '', fraction = ''] = text.split('.');
  const unscaled = BigInt(`${whole}${fraction.padEnd(SCALE, '0')}`);
  return Buffer.from(
    BigInt.asUintN(DECIMAL_BYTES * 8, unscaled)
      .toString(16)
      .padStart(DECIMAL_BYTES * 2, '0'),
    'hex',
  );
}

/** What our own reader finds in records of instruments, in the form of `readPrices`. */
export function ownPrices(records: readonly CommittedRecord[]): ReadonlyMap<string, string | null> {
  return new Map(
    records.map(({ key, value }) => {
      if (value === null) return [String(key), null];
      const { schemaId } = readWireValue(value);
      const { issuePrice } = createRecordReader({ schemas: new Map([[schemaId, readSchemaText('Instrument')]]) }).read(
        value,
      );
      return [String(key), typeof issuePrice === 'string' ? issuePrice : null];
    }),
  );
}
