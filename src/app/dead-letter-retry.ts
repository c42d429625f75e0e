import { topicOf } from '../config/settings.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { commitInTurn } from './commit-in-turn.ts';
import { DEAD_LETTER_HEADER, type RereadLetter, rereadLetter } from './dead-letter-records.ts';
import { type DeadLetter, deadLetters } from './dead-letters-operation.ts';
import type { Installation } from './installation.ts';
import { createRegistry } from './registry-client.ts';
import { operatorId, readWanted, restartRecord } from './state-operation.ts';

/** What becomes of one dead letter. */
export interface RetriedLetter {
  readonly id: string;
  /**
   * `toWrite` where nothing was executed; `superseded`: nothing need be written, since the topic has something newer, or
   * what this letter became before.
   */
  readonly outcome: 'written' | 'toWrite' | 'superseded' | 'impossible';
  /** The topics of its records. */
  readonly topics: readonly string[];
  /** Why not, or why not all of it; empty otherwise. */
  readonly says: string;
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} };

/**
 * Reads the inputs of dead letters again, with the schemas and settings of now, and writes what they become in one
 * transaction, when `execute` says so; otherwise the outcome tells what would be written. An instrument is only written
 * where the topic has nothing newer of its id; should a connector write it in the same moment, the next walk mends it.
 * For that it must know of what was written here: the same transaction asks the source to start again, which reads the
 * topic anew.
 *
 * @throws ConnectorError DEAD_LETTER_UNKNOWN, and as registry and Kafka do.
 */
export async function retryDeadLetters(
  at: Installation,
  { ids, execute }: { readonly ids: readonly string[]; readonly execute: boolean },
): Promise<readonly RetriedLetter[]> {
  const { settings, clock, signal } = at;
  const registry = await createRegistry(settings.schemaRegistry, { clock, log: quiet });
  const reread: { readonly letter: DeadLetter; readonly now: RereadLetter }[] = [];
  for (const letter of await deadLetters(at, [...new Set(ids)])) {
    reread.push({ letter, now: await rereadLetter(at, registry, letter) });
  }
  const all = reread.flatMap(({ now }) => (now.kind === 'records' ? now.records : []));
  const plans = async (readSignal: AbortSignal) => {
    const held = await heldOf({ ...at, signal: readSignal }, all);
    return reread.map(({ letter, now }) => plan(at, letter, now, held));
  };
  if (!execute) {
    const planned = (await plans(signal)).map(({ letter }) => letter);
    return planned.map((one) => (one.outcome === 'written' ? { ...one, outcome: 'toWrite' } : one));
  }
  const done = await commitInTurn(at, operatorId(settings.prefix), {
    async read(readSignal) {
      const planned = await plans(readSignal);
      return { planned, restarts: await restartsFor({ ...at, signal: readSignal }, planned.flatMap(recordsOf)) };
    },
    records: ({ planned, restarts }) => [...planned.flatMap(recordsOf), ...restarts],
  });
  return done.planned.map(({ letter }) => letter);
}

/** Asks every source to start again whose instruments are among the records. */
async function restartsFor(at: Installation, records: readonly OutgoingRecord[]): Promise<readonly OutgoingRecord[]> {
  const written = new Set(records.map(({ topic }) => topic));
  const restarts: OutgoingRecord[] = [];
  for (const source of at.settings.sources) {
    if (source.type !== 'instruments' || !written.has(topicOf(at.settings, source.topics.instruments))) continue;
    restarts.push(restartRecord(at, source.name, await readWanted(at, source.name)));
  }
  return restarts;
}

/** What the topics hold under the keys that would be written. */
interface Held {
  readonly newestMs: ReadonlyMap<string, number>;
  /** The dead letters that are there already, each behind its topic. */
  readonly letters: ReadonlySet<string>;
}

async function heldOf({ kafka, signal }: Installation, records: readonly OutgoingRecord[]): Promise<Held> {
  const wanted = new Set(records.map(placeOf));
  const newestMs = new Map<string, number>();
  const letters = new Set<string>();
  for (const topic of new Set(records.map((record) => record.topic))) {
    const partitions = records.filter((record) => record.topic === topic).map(({ partition }) => partition);
    await kafka.logReader.readToEnd({
      topic,
      partitions: [...new Set(partitions)],
      onRecord(record) {
        const place = placeOf(record);
        if (!wanted.has(place)) return;
        newestMs.set(place, record.timestampMs);
        const id = record.headers[DEAD_LETTER_HEADER];
        if (id !== undefined) letters.add(`${topic} ${id}`);
      },
      signal,
    });
  }
  return { newestMs, letters };
}

function plan(
  { settings }: Installation,
  { id, timestampMs }: DeadLetter,
  now: RereadLetter,
  { newestMs, letters }: Held,
): { readonly letter: RetriedLetter; readonly records: readonly OutgoingRecord[] } {
  if (now.kind === 'impossible') {
    return { letter: { id, outcome: 'impossible', topics: [], says: now.why }, records: [] };
  }
  const ofInstruments = settings.sources.flatMap((source) =>
    source.type === 'instruments' ? [topicOf(settings, source.topics.instruments)] : [],
  );
  const isSuperseded = (record: OutgoingRecord) =>
    ofInstruments.includes(record.topic) && (newestMs.get(placeOf(record)) ?? Number.NEGATIVE_INFINITY) >= timestampMs;
  if (now.records.some(({ topic }) => letters.has(`${topic} ${id}`))) {
    return { letter: { id, outcome: 'superseded', topics: [], says: 'it was written already' }, records: [] };
  }
  const records = now.records.filter((record) => !isSuperseded(record));
  const topics = records.map(({ topic }) => topic);
  const says =
    records.length < now.records.length ? 'the instruments topic has something newer of this instrument' : '';
  return { letter: { id, outcome: records.length === 0 ? 'superseded' : 'written', topics, says }, records };
}

function recordsOf({ records }: { readonly records: readonly OutgoingRecord[] }): readonly OutgoingRecord[] {
  return records;
}

function placeOf({ topic, key }: Pick<OutgoingRecord, 'topic' | 'key'>): string {
  return `${topic} ${key}`;
}
