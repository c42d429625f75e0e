import { createPricedInstrumentReader } from '../../avro/priced-instrument-reader.ts';
import type { SchemaRegistry } from '../../avro/registry.ts';
import { partitionsOf } from '../../kafka/topic.ts';
import type { AskedInstrument } from '../../processor/core/instrument.ts';
import { readTable } from '../../processor/read-table.ts';
import { priceInputs } from '../../setup/price-inputs.ts';
import type { Installation } from '../installation.ts';

/** Behind every record of a partition. */
const BEHIND_ALL = 2n ** 62n;
/** The committed offset of a backfill that is complete: the largest one. */
export const COMPLETE = 2n ** 63n - 1n;

export interface FollowedInstruments {
  /** All whose prices are followed. */
  readonly followed: readonly AskedInstrument[];
  /** Those to backfill. In the order of `progressOf`, in which they are backfilled. */
  readonly instruments: readonly AskedInstrument[];
  /** Those of the wanted isins that no instrument has. */
  readonly absent: readonly string[];
  /** Records that cannot be read: their instruments are left out, as the price processor leaves them out. */
  readonly unreadable: readonly UnreadableRecord[];
}

export interface UnreadableRecord {
  readonly topic: string;
  readonly partition: number;
  readonly reason: string;
  readonly records: number;
  readonly firstOffset: string;
}

/** The instruments whose prices are followed; of them those with a wanted isin, where isins are given. */
export async function readInstruments(
  { settings, kafka, topics, signal }: Installation,
  registry: Pick<SchemaRegistry, 'schemaText'>,
  isins: ReadonlySet<string>,
): Promise<FollowedInstruments> {
  const instrumentReader = createPricedInstrumentReader((id, asked) => registry.schemaText(id, asked));
  const followed: AskedInstrument[] = [];
  const unreadable: UnreadableRecord[] = [];
  for (const name of priceInputs(settings).topics) {
    for (const partition of partitionsOf({ ...topics.instruments, name })) {
      const whole = { offset: BEHIND_ALL, until: BEHIND_ALL };
      const read = await readTable({ reader: kafka.logReader, partition, instrumentReader, ...whole, signal });
      for (const [id, isin, terms] of read.instruments) {
        followed.push({ id, isin, terms, row: 0, version: 0, isinChanged: false, plans: [] });
      }
      read.unreadable.report(partition, { recordsUnreadable: (one) => void unreadable.push(one) });
    }
  }
  const found = isins.size === 0 ? followed : followed.filter(({ isin }) => isins.has(isin));
  const present = new Set(found.map(({ isin }) => isin));
  return { followed, instruments: inOrder(found), absent: [...isins].filter((isin) => !present.has(isin)), unreadable };
}

function inOrder(instruments: readonly AskedInstrument[]): readonly AskedInstrument[] {
  const placed = instruments.map((instrument) => ({ instrument, at: progressOf(instrument) }));
  return placed.sort((one, other) => (one.at < other.at ? -1 : 1)).map(({ instrument }) => instrument);
}

/**
 * The progress of a backfill that goes on with this instrument: a consumer offset, so no less than 0 and below `COMPLETE`.
 * Two ids that differ only by their sign share one, and are done together.
 */
export function progressOf({ id }: Pick<AskedInstrument, 'id'>): bigint {
  const number = BigInt(id);
  const size = number < 0n ? -number : number;
  return size < COMPLETE ? size : COMPLETE - 1n;
}
