import { createPricedInstrumentReader } from '../../avro/priced-instrument-reader.ts';
import type { SchemaRegistry } from '../../avro/registry.ts';
import { partitionsOf } from '../../kafka/topic.ts';
import type { AskedInstrument } from '../../processor/core/instrument.ts';
import { readTable } from '../../processor/read-table.ts';
import { priceInputs } from '../../setup/price-inputs.ts';
import type { Installation } from '../installation.ts';

/** Behind every record of a partition. */
const BEHIND_ALL = 2n ** 62n;

/**
 * The instruments whose prices are followed, by their ids: the order in which they are backfilled. Ids below zero are left
 * out, as the progress could not be kept for them.
 */
export async function readInstruments(
  { settings, kafka, topics, signal }: Installation,
  registry: SchemaRegistry,
  isins: ReadonlySet<string>,
): Promise<readonly AskedInstrument[]> {
  const instrumentReader = createPricedInstrumentReader((id, asked) => registry.schemaText(id, asked));
  const found: AskedInstrument[] = [];
  for (const name of priceInputs(settings).topics) {
    for (const partition of partitionsOf({ ...topics.instruments, name })) {
      const whole = { offset: BEHIND_ALL, until: BEHIND_ALL };
      const read = await readTable({ reader: kafka.logReader, partition, instrumentReader, ...whole, signal });
      for (const [id, isin, terms] of read.instruments) {
        if (id.startsWith('-') || (isins.size > 0 && !isins.has(isin))) continue;
        found.push({ id, isin, terms, row: 0, version: 0, isinChanged: false, plans: [] });
      }
    }
  }
  return found.sort((one, other) => (BigInt(one.id) < BigInt(other.id) ? -1 : 1));
}
