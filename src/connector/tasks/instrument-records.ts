import type { DecodedRow } from '../../avro/page-decoder.ts';
import { ConnectorError } from '../../errors.ts';
import { partitionFor } from '../../kafka/partitioner.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { deadLetterRecord } from '../dead-letter.ts';

const DEAD_LETTERS_ALWAYS_TAKEN = 20;

/** A topic as a task writes to it. */
export interface TargetTopic {
  readonly name: string;
  readonly partitions: number;
}

export interface InstrumentTargets {
  readonly source: string;
  readonly instruments: TargetTopic;
  readonly deadLetters: TargetTopic;
}

export interface PageRecords {
  readonly records: readonly OutgoingRecord[];
  readonly instruments: number;
  readonly deadLetters: number;
  /** Rows that a later row of the same page replaces: the last one wins. */
  readonly repeatedRows: number;
}

/** The records of one page: a record for each instrument, a dead letter for each row that does not map. */
export function instrumentRecords(
  rows: readonly DecodedRow[],
  targets: InstrumentTargets,
  provenance: Readonly<Record<string, string>>,
): PageRecords {
  const instruments = new Map<string, OutgoingRecord>();
  const deadLetters: OutgoingRecord[] = [];
  let repeatedRows = 0;
  for (const row of rows) {
    if (row.kind === 'failure') {
      const { source } = targets;
      const { name: topic, partitions } = targets.deadLetters;
      const targetTopic = targets.instruments.name;
      deadLetters.push(deadLetterRecord({ topic, partitions, source, targetTopic, input: row, provenance }));
      continue;
    }
    const key = Buffer.from(row.key, 'utf8');
    const { name: topic, partitions } = targets.instruments;
    if (instruments.delete(row.key)) repeatedRows += 1;
    const partition = partitionFor(key, partitions);
    instruments.set(row.key, { topic, partition, key, value: row.value, headers: provenance });
  }
  const records = [...instruments.values(), ...deadLetters];
  return { records, instruments: instruments.size, deadLetters: deadLetters.length, repeatedRows };
}

/**
 * Some rows that do not map are dead letters; many mean that the provider changed a type. Then the source stops with
 * nothing written, instead of emptying the universe into the dead letters.
 */
export function assertFewFailures(rows: readonly DecodedRow[], largestShare: number, whence: string): void {
  const failures = rows.filter((row) => row.kind === 'failure');
  if (failures.length <= Math.max(DEAD_LETTERS_ALWAYS_TAKEN, rows.length * largestShare)) return;
  const first = failures[0];
  throw new ConnectorError(
    'TOO_MANY_DEAD_LETTERS',
    `${failures.length} of ${rows.length} rows of ${whence} do not map, more than mapping.maxDeadLetters allows; ` +
      `the first at ${first?.pointer || '/'}: ${first?.reason}. Nothing of the page was written.`,
    { fields: { rows: rows.length, failures: failures.length } },
  );
}
