import { PRICE_KINDS } from '../config/price-kinds/all.ts';
import { partitionFor } from '../kafka/partitioner.ts';
import type { CommittedRecord } from '../kafka/record.ts';
import type { TopicSpecification } from '../kafka/topic.ts';
import { createRegistry } from '../setup/registry-client.ts';
import { silentLog } from '../support/log.ts';
import type { Installation } from './installation.ts';
import { createReadableRecords, type ReadableTopicRecord } from './readable-values.ts';

export interface TailRequest {
  readonly topic: TopicSpecification;
  /** Only records of this key; null for all. */
  readonly key: string | null;
  readonly fromBeginning: boolean;
  /** Whether to end where the topic ended when it was asked; only with `fromBeginning`. */
  readonly untilEnd: boolean;
  /** Ends after so many. */
  readonly limit: number;
  /** What it gives is waited for before more is read: so no more is held than fits through. */
  readonly onRecord: (record: ReadableTopicRecord) => void | Promise<void>;
}

/**
 * Gives the committed records of a topic, in the order of each partition, until the limit, the end (if asked for) or the
 * signal; a stop by the signal is an end like any other.
 *
 * @throws ConnectorError RECORD_UNREADABLE, KAFKA_UNREACHABLE, and what the registry throws.
 */
export async function tailTopic(at: Installation, request: TailRequest): Promise<void> {
  const { settings, kafka, topics, clock, signal } = at;
  const { topic, key, fromBeginning, untilEnd, limit, onRecord } = request;
  if (limit === 0) return;
  const ended = new AbortController();
  const enough = new Error('as many as were asked for');
  const stop = AbortSignal.any([signal, ended.signal]);
  const registry = await createRegistry(settings.schemaRegistry, { clock, log: silentLog });
  const readable = createReadableRecords((id) => registry.schemaText(id, stop), {
    texts: new Set([topics['dead-letters'].name]),
    json: new Set([topics.offsets.name, topics.states.name]),
  });

  let given = 0;
  let shown: Promise<void> = Promise.resolve();
  const take = (record: CommittedRecord): void => {
    if (key !== null && record.key?.toString() !== key) return;
    // One after the other, so that a schema that is asked for holds back what comes behind its record.
    shown = shown.then(async () => {
      if (ended.signal.aborted) return;
      await onRecord(await readable.read(record));
      given += 1;
      if (given === limit) ended.abort(enough);
    });
    shown.catch((error: unknown) => ended.abort(error));
  };

  const partitions =
    key === null
      ? Array.from({ length: topic.partitions }, (_, partition) => partition)
      : [partitionFor(Buffer.from(placingPart(at, topic, key), 'utf8'), topic.partitions)];
  const room = () => shown.catch(() => {});
  const log = { topic: topic.name, partitions, onRecord: take, room, signal: stop };
  try {
    if (untilEnd) await kafka.logReader.readToEnd(log);
    else await kafka.logTail.follow({ ...log, onlyNew: !fromBeginning });
    await shown;
  } catch (error) {
    if (error !== enough && !(signal.aborted && error === signal.reason)) throw error;
  }
}

/** Prices are on the partition of their instrument, whose id their key begins with. */
function placingPart({ topics }: Installation, { name }: TopicSpecification, key: string): string {
  const ofPrices = Object.values(PRICE_KINDS).some(({ topic }) => topics[topic].name === name);
  return ofPrices ? (key.split('/')[0] ?? key) : key;
}
