import type { KafkaCluster } from '../../../src/kafka/cluster.ts';
import { offsetKey, offsetPartition, type SourceOffset } from '../../../src/kafka/offset-store.ts';
import type { CommittedRecord } from '../../../src/kafka/record.ts';
import { partitionFor } from '../../../src/kafka/record.ts';
import { createRecordReader, type ReadableRecord } from '../../../src/records/avro/record-reader.ts';
import { readSchemaText, type SchemaName } from '../../../src/records/avro/schema-files.ts';
import { readWireValue } from '../../../src/records/avro/wire-format.ts';
import { createCheckDecoder } from '../../../src/records/decoding/check-decoder.ts';
import { createEventDecoder } from '../../../src/records/decoding/event-decoder.ts';
import { readFollowerOffset } from '../../../src/sources/stream/committed-stream.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { chunked } from '../decoding/avro-decoding.ts';
import { readCommitted } from '../kafka/kafka-real.ts';
import { fenceSource } from '../ledgers/at-rest.ts';

const PARTITIONS = [0, 1, 2, 3, 4, 5];

/** A source that follows one stream, as a test sees it on Kafka once nothing writes any more. */
export interface StreamAtRest {
  /** Every record of its topic, by partition, in order. */
  readonly records: readonly (readonly CommittedRecord[])[];
  readonly deadLetters: readonly CommittedRecord[];
  readonly notifications: readonly ReadableRecord[];
  /** Every committed offset. */
  readonly offsets: readonly SourceOffset[];
}

export async function streamAtRest(
  kafka: KafkaCluster,
  prefix: string,
  source: { readonly name: string; readonly type: 'events' | 'pre-trade-checks'; readonly topic: string },
): Promise<StreamAtRest> {
  const key = offsetKey(source.name, source.type);
  await fenceSource(kafka, prefix, key);
  const offsets = await readCommitted(kafka, `${prefix}.offsets`, [offsetPartition(key)]);
  return {
    records: await Promise.all(
      PARTITIONS.map((partition) => readCommitted(kafka, `${prefix}.${source.topic}`, [partition])),
    ),
    deadLetters: await readCommitted(kafka, `${prefix}.dead-letters`),
    notifications: readable(await readCommitted(kafka, `${prefix}.notifications`), 'Notification'),
    offsets: offsets
      .filter((record) => String(record.key) === key)
      .map(({ value }) => JSON.parse(String(value)) as SourceOffset),
  };
}

/** A committed offset as the source reads it. */
export function offsetOf(raw: SourceOffset | undefined, type: 'events' | 'pre-trade-checks') {
  if (raw === undefined) throw new Error('No offset was committed.');
  const expected = { source: 'test', filter: String(raw.filter), mayLackSince: type === 'pre-trade-checks' };
  return readFollowerOffset(raw, expected);
}

function readable(records: readonly CommittedRecord[], name: SchemaName): ReadableRecord[] {
  const values = records.flatMap(({ value }) => value ?? []);
  const schemas = new Map(values.map((value) => [readWireValue(value).schemaId, readSchemaText(name)]));
  const reader = createRecordReader({ schemas });
  return values.map((value) => reader.read(value));
}

/** Values by partition as they must be on the topic for these JSON texts, under the schema that its records name. */
export async function expectedEvents(
  texts: readonly string[],
  records: StreamAtRest['records'],
): Promise<readonly (readonly Buffer[])[]> {
  const schemaId = schemaIdOf(records);
  const decoder = createEventDecoder({
    eventSchema: readSchemaText('InstrumentEvent'),
    eventSchemaId: schemaId,
    instrumentSchema: readSchemaText('Instrument'),
    instrumentSchemaId: schemaId,
    onMismatch: 'deadLetter',
    clock: systemClock,
  });
  const { rows } = await decoder.decode(chunked(`{"events":[${texts.join(',')}]}`));
  return byPartition(rows.map((row) => (row.kind === 'event' ? [row.key, row.eventValue] : refuse(row.reason))));
}

export async function expectedChecks(
  texts: readonly string[],
  records: StreamAtRest['records'],
): Promise<readonly (readonly Buffer[])[]> {
  const decoder = createCheckDecoder({
    schema: readSchemaText('PreTradeCheck'),
    schemaId: schemaIdOf(records),
    onMismatch: 'deadLetter',
    clock: systemClock,
  });
  const { rows } = await decoder.decode(chunked(`{"preTradeChecks":[${texts.join(',')}]}`));
  return byPartition(rows.map((row) => (row.kind === 'record' ? [row.key, row.value] : refuse(row.reason))));
}

function refuse(reason: string): never {
  throw new Error(`What was expected does not map: ${reason}`);
}

function schemaIdOf(records: StreamAtRest['records']): number {
  const value = records.flat()[0]?.value;
  if (!value) throw new Error('The topic is empty.');
  return readWireValue(value).schemaId;
}

function byPartition(keyed: readonly (readonly [string, Buffer])[]): readonly (readonly Buffer[])[] {
  return PARTITIONS.map((partition) =>
    keyed.filter(([key]) => partitionFor(Buffer.from(key), PARTITIONS.length) === partition).map(([, value]) => value),
  );
}
