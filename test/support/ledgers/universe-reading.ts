import { createHash } from 'node:crypto';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import type { CommittedRecord } from '../../../src/kafka/record.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { WIRE_HEADER_BYTES } from '../../../src/records/avro/wire-format.ts';
import type { DecodedEvent } from '../../../src/records/decoding/event-decoder.ts';
import { createEventDecoder } from '../../../src/records/decoding/event-decoder.ts';
import { createPageDecoder } from '../../../src/records/decoding/page-decoder.ts';
import { systemClock } from '../../../src/support/clock.ts';
import type { KeyedContent } from './universe-log.ts';

const schema = readSchemaText('Instrument');
const common = { schemaId: 1, onMismatch: 'deadLetter', clock: systemClock } as const;
const pages = createPageDecoder({ ...common, schema, listKey: 'instruments' });
const events = createEventDecoder({
  ...common,
  eventSchema: readSchemaText('InstrumentEvent'),
  eventSchemaId: 1,
  instrumentSchema: schema,
  instrumentSchemaId: 1,
});

/** A short text that is equal for equal contents, whatever the id of their schema. */
function contentOf(value: Buffer): string {
  return createHash('sha1').update(value.subarray(WIRE_HEADER_BYTES)).digest('base64');
}

export function contents(records: readonly CommittedRecord[]): KeyedContent[] {
  return records.map(({ key, value }) => ({ key: String(key), content: value === null ? null : contentOf(value) }));
}

/** The same, each with its place. */
export function placedContents(records: readonly CommittedRecord[]): KeyedContent[] {
  const places = records.map(({ partition, offset, timestampMs, headers }) => {
    const origin = JSON.stringify(headers);
    return `${partition}/${offset} at ${new Date(timestampMs).toISOString()} ${origin}`;
  });
  return contents(records).map((record, index) => ({ ...record, place: places[index] ?? '' }));
}

/** The instruments that the provider has now, by its ledger, as records would hold them. */
export async function ledgerUniverse(simulator: Simulator): Promise<Map<string, string>> {
  const texts = [...simulator.ledger.instruments()].map(({ text }) => text);
  const { rows } = await pages.decode(body(`{"instruments":[${texts.join(',')}]}`));
  return new Map(
    rows.map((row) => {
      if (row.kind === 'failure') throw new Error(`A row of the ledger does not map at ${row.pointer}: ${row.reason}`);
      return [row.key, contentOf(row.value)] as const;
    }),
  );
}

export interface LedgerEvent {
  readonly offset: string;
  readonly key: string;
  readonly event: string;
  readonly instrument: string;
}

/** The events that the provider published and gives out, in order, as records would hold them; without the first ones. */
export async function ledgerEvents(simulator: Simulator, without = 0): Promise<LedgerEvent[]> {
  const published = [...simulator.ledger.events()].filter(({ hidden }) => !hidden).slice(without);
  const texts = published.map(({ text }) => text);
  const { rows } = await events.decode(body(`{"events":[${texts.join(',')}]}`));
  return rows.map((event: DecodedEvent, index) => {
    if (event.kind === 'failure') throw new Error(`An event of the ledger does not map at ${event.pointer}`);
    const offset = published[index]?.offset ?? '';
    return { offset, key: event.key, event: contentOf(event.eventValue), instrument: contentOf(event.instrumentValue) };
  });
}

async function* body(text: string) {
  yield Buffer.from(text);
}
