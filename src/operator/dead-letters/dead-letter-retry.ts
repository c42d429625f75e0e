import type { SchemaRegistry } from '../../avro/registry.ts';
import { type ReferenceDataSettings, topicOf } from '../../config/settings.ts';
import type { HttpClient } from '../../http/client.ts';
import type { CommittedRecord, OutgoingRecord } from '../../kafka/record.ts';
import type { TopicPartition } from '../../kafka/topic.ts';
import { createReferenceDataHttp } from '../../setup/provider-client.ts';
import { createRegistry } from '../../setup/registry-client.ts';
import { silentLog } from '../../support/log.ts';
import { systemRandom } from '../../support/system-random.ts';
import { commitInTurn } from '../commit-in-turn.ts';
import type { Installation } from '../installation.ts';
import { operatorId, readWanted, restartRecord, statesPartitions } from '../state-operation.ts';
import { type Held, HeldStates, planRetry, type Reread, type RetriedLetter } from './dead-letter-plan.ts';
import { rereadLetter } from './dead-letter-records.ts';
import { deadLetters } from './dead-letters-operation.ts';

/**
 * Reads the inputs of dead letters again, with the current schemas and settings, and writes their records in one
 * transaction, when `execute` is set; otherwise the outcome shows what would be written. An instrument is only written
 * when neither the topic nor another of these letters has a newer state of it; if a connector writes it in the same
 * moment, the next walk corrects it. For that the source must know what was written here: the same transaction asks
 * the source to restart, which reads the topic again.
 *
 * @throws ConnectorError DEAD_LETTER_UNKNOWN, and as registry and Kafka do.
 */
export async function retryDeadLetters(
  at: Installation,
  {
    ids,
    execute,
    referenceData,
  }: {
    readonly ids: readonly string[];
    readonly execute: boolean;
    /** The settings of the provider; asked for only where a letter needs it. */
    readonly referenceData: () => Promise<ReferenceDataSettings>;
  },
): Promise<readonly RetriedLetter[]> {
  const { settings, clock, signal } = at;
  const registry = await createRegistry(settings.schemaRegistry, { clock, log: silentLog });
  const reread = await rereadAll(at, { registry, referenceData }, [...new Set(ids)]);
  const all = reread.flatMap(({ now }) => (now.kind === 'records' ? now.records : []));
  const instrumentTopics = settings.sources.flatMap((source) =>
    source.type === 'instruments' ? [topicOf(settings, source.topics.instruments)] : [],
  );
  const checkTopics = settings.sources.flatMap((source) =>
    source.type === 'pre-trade-checks' ? [topicOf(settings, source.topics['pre-trade-checks'])] : [],
  );
  const planned = async (readSignal: AbortSignal) => {
    const held = await heldOf({ ...at, signal: readSignal }, all);
    return planRetry(reread, held, { instrumentTopics, checkTopics, nowMs: clock.wallMs() });
  };
  if (!execute) {
    const { outcomes } = await planned(signal);
    return outcomes.map((one) => (one.outcome === 'written' ? { ...one, outcome: 'toWrite' } : one));
  }
  const done = await commitInTurn(at, operatorId(settings.prefix), {
    abortHanging: () => [...statesPartitions(at.topics), ...partitionsWritten(all)],
    async read(readSignal) {
      const plan = await planned(readSignal);
      return { ...plan, restarts: await restartsFor({ ...at, signal: readSignal }, plan.records) };
    },
    writes: ({ records, restarts }) => ({ records: [...records, ...restarts] }),
  });
  return done.outcomes;
}

async function rereadAll(
  at: Installation,
  { registry, referenceData }: { registry: SchemaRegistry; referenceData: () => Promise<ReferenceDataSettings> },
  ids: readonly string[],
): Promise<Reread[]> {
  const { clock } = at;
  const reread: Reread[] = [];
  let opened: { readonly http: HttpClient; readonly baseUrl: string } | undefined;
  async function provider() {
    if (opened !== undefined) return opened;
    const settings = await referenceData();
    const http = await createReferenceDataHttp(settings, { clock, random: systemRandom, log: silentLog });
    opened = { http, baseUrl: settings.url };
    return opened;
  }
  try {
    for (const letter of await deadLetters(at, ids)) {
      reread.push({ letter, now: await rereadLetter(at, { registry, provider }, letter) });
    }
    return reread;
  } finally {
    await opened?.http.close();
  }
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

function partitionsWritten(records: readonly OutgoingRecord[]): TopicPartition[] {
  const written = new Map(records.map(({ topic, partition }) => [`${topic}/${partition}`, { topic, partition }]));
  return [...written.values()];
}

async function heldOf({ kafka, signal }: Installation, records: readonly OutgoingRecord[]): Promise<Held> {
  const held = new HeldStates(records);
  for (const topic of new Set(records.map((record) => record.topic))) {
    const partitions = records.filter((record) => record.topic === topic).map(({ partition }) => partition);
    const onRecord = (record: CommittedRecord) => held.add(record);
    await kafka.logReader.readToEnd({ topic, partitions: [...new Set(partitions)], onRecord, signal });
  }
  return held;
}
