import { ConnectorError } from '../../errors.ts';
import type { CommittedRecord } from '../../kafka/record.ts';
import type { Installation } from '../installation.ts';

/** An input that could not become a record, as it is on the dead letters topic. */
export interface DeadLetter {
  /** Its Kafka offset there, in decimal: the topic has one partition. */
  readonly id: string;
  /** When it was written, by the broker's clock. */
  readonly timestampMs: number;
  readonly source: string;
  /** The topic that the record was meant for. */
  readonly topic: string;
  readonly key: string | null;
  /** Where in the input the problem is. */
  readonly pointer: string;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The input's bytes, cut at 256 KiB; null where it has none, as for pre-trade checks. */
  readonly value: Buffer | null;
}

export interface DeadLetterFilter {
  /** Absent: of all sources. */
  readonly source?: string | undefined;
  /** A part of the reason. */
  readonly reason?: string | undefined;
  readonly sinceMs?: number | undefined;
  /** The newest so many. */
  readonly limit: number;
}

export interface FoundLetters {
  /** Oldest first. */
  readonly letters: readonly DeadLetter[];
  /** How many fit, the older ones beyond the limit too. */
  readonly count: number;
}

/** The dead letters that fit. @throws ConnectorError KAFKA_UNREACHABLE. */
export async function listDeadLetters(
  at: Installation,
  { source, reason, sinceMs, limit }: DeadLetterFilter,
): Promise<FoundLetters> {
  const letters: DeadLetter[] = [];
  let count = 0;
  await eachDeadLetter(at, (letter) => {
    if (source !== undefined && letter.source !== source) return;
    if (reason !== undefined && !letter.reason.includes(reason)) return;
    if (sinceMs !== undefined && letter.timestampMs < sinceMs) return;
    count += 1;
    letters.push(letter);
    if (letters.length > limit) letters.shift();
  });
  return { letters, count };
}

/** The dead letters of these ids, in their order. @throws ConnectorError DEAD_LETTER_UNKNOWN when one is not there. */
export async function deadLetters(at: Installation, ids: readonly string[]): Promise<readonly DeadLetter[]> {
  const found = new Map<string, DeadLetter>();
  await eachDeadLetter(at, (letter) => {
    if (ids.includes(letter.id)) found.set(letter.id, letter);
  });
  return ids.map((id) => {
    const letter = found.get(id);
    if (letter !== undefined) return letter;
    const text = `There is no dead letter ${JSON.stringify(id)} on ${at.topics['dead-letters'].name}.`;
    throw new ConnectorError('DEAD_LETTER_UNKNOWN', text);
  });
}

async function eachDeadLetter(
  { kafka, topics, signal }: Installation,
  take: (letter: DeadLetter) => void,
): Promise<void> {
  const topic = topics['dead-letters'];
  const partitions = Array.from({ length: topic.partitions }, (_, partition) => partition);
  const onRecord = (record: CommittedRecord) => take(read(record));
  await kafka.logReader.readToEnd({ topic: topic.name, partitions, onRecord, signal });
}

function read({ offset, timestampMs, key, headers, value }: CommittedRecord): DeadLetter {
  return {
    id: String(offset),
    timestampMs,
    source: headers['__connect.errors.connector.name'] ?? '',
    topic: headers['__connect.errors.topic'] ?? '',
    key: key === null ? null : key.toString(),
    pointer: headers['spc-pointer'] ?? '',
    reason: headers['__connect.errors.exception.message'] ?? '',
    headers,
    value,
  };
}
