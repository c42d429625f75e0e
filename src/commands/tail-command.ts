import { isUtf8 } from 'node:buffer';
import { PRICE_KINDS } from '../config/price-kinds/all.ts';
import { type Settings, topicOf } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import { type CommittedRecord, partitionFor } from '../kafka/record.ts';
import { partitionsOf, type TopicSpecification } from '../kafka/topic.ts';
import { createRecordReader, type ReadableValue, type RecordReader } from '../records/avro/record-reader.ts';
import { readWireValue } from '../records/avro/wire-format.ts';
import { atInstallation, type Installation } from '../run/installation.ts';
import { planSources } from '../run/planned-topics.ts';
import { createRegistry } from '../run/registry-client.ts';
import { silentLog } from '../support/log.ts';
import { untilAborted } from '../support/until-aborted.ts';
import { loadWithoutProvider, refuseName } from './command-settings.ts';
import { jsonLine, writeAll } from './shell/output.ts';
import { recordText, withoutUrlIn } from './shell/record-text.ts';
import type { CommandContext } from './shell/terminal.ts';

const AVRO_BEGINS = 0;

interface TailOptions {
  readonly fromBeginning: boolean;
  readonly untilEnd: boolean;
  readonly key?: string;
  readonly limit?: number;
  readonly showUrl: boolean;
}

export async function tailCommand(context: CommandContext, options: TailOptions, name: string): Promise<void> {
  const { stdout, stderr, signal, output } = context;
  const { key = null, limit = Number.POSITIVE_INFINITY, fromBeginning, untilEnd, showUrl } = options;
  const format = output === 'json' ? jsonLine : recordText;
  const settings = await loadWithoutProvider(context);
  const topic = knownTopic(context, settings, name);
  await atInstallation({ settings, signal, needs: [] }, async (at) => {
    const verified = at.kafka.ensureTopics([topic], { create: false });
    await untilAborted(verified, signal).catch((error) => {
      refuseDisabled(context, settings, topic, error);
      throw error;
    });
    stderr.write(untilEnd ? `Reading ${topic.name}.\n` : `Following ${topic.name}; Ctrl-C ends it.\n`);
    const onRecord = (record: ReadableTopicRecord) =>
      writeAll(stdout, format(showUrl ? record : withoutUrlIn(record)), signal);
    await tailTopic(at, { topic, key, fromBeginning, untilEnd, limit, onRecord });
  });
}

/** Finds a topic, with or without the prefix. Price topics of disabled kinds count too: a backfill writes to them. */
function knownTopic(context: CommandContext, settings: Settings, given: string): TopicSpecification {
  const { topics, shared } = planSources(settings);
  const ofPrices = Object.values(PRICE_KINDS).map(({ topic }) => shared[topic]);
  const found = [...topics, ...ofPrices].find(({ name }) => name === given || name === topicOf(settings, given));
  const names = topics.map(({ name }) => name.slice(settings.prefix.length + 1));
  return found ?? refuseName(context, 'topic', given, names);
}

/** The connector does not create topics of prices that it does not request, so the usual remedies would not help. */
function refuseDisabled({ refuse }: CommandContext, settings: Settings, { name }: TopicSpecification, error: unknown) {
  if (!(error instanceof ConnectorError) || error.code !== 'TOPIC_MISSING' || !settings.topics.create) return;
  const { topics, shared } = planSources(settings);
  if (topics.some((topic) => topic.name === name)) return;
  const { prices, marketData } = settings;
  const kinds = ['overview', 'daily', 'intraday'] as const;
  const kind = kinds.find((one) => shared[PRICE_KINDS[one].topic].name === name);
  if (kind === undefined) return;
  const isOff = !prices.kinds[kind].enabled;
  const remedy = isOff ? `prices.kinds.${kind}.enabled: true` : 'marketData.url and prices.enabled: true';
  const backfill = isOff && marketData !== null && kind !== 'overview' ? `, or run spconnect backfill ${kind}` : '';
  refuse(`found ${name}, which does not exist. These settings request no ${kind} prices. Set ${remedy}${backfill}.`);
}

type ReadableTopicRecord = Awaited<ReturnType<ReturnType<typeof recordReader>>>;

interface TailRequest extends Required<Pick<TailOptions, 'limit' | 'fromBeginning' | 'untilEnd'>> {
  readonly topic: TopicSpecification;
  readonly key: string | null;
  /** The next records are read only after the returned promise resolves, so that slow output does not fill the memory. */
  readonly onRecord: (record: ReadableTopicRecord) => void | Promise<void>;
}

/**
 * Reads committed records, in the order of each partition, until the limit, the end or the signal. Exported for tests.
 *
 * @throws ConnectorError RECORD_UNREADABLE, KAFKA_UNREACHABLE, or an error of the registry.
 */
export async function tailTopic(at: Installation, request: TailRequest): Promise<void> {
  const { settings, kafka, clock, signal } = at;
  const { topic, key, fromBeginning, untilEnd, limit, onRecord } = request;
  if (limit === 0) return;
  const ended = new AbortController();
  const enough = new Error('the limit of records is reached');
  const stop = AbortSignal.any([signal, ended.signal]);
  const registry = await createRegistry(settings.schemaRegistry, { clock, log: silentLog });
  const read = recordReader(at, (id) => registry.schemaText(id, stop));
  let given = 0;
  let shown: Promise<void> = Promise.resolve();
  const take = (record: CommittedRecord): void => {
    if (key !== null && record.key?.toString() !== key) return;
    // Records stay in order: a record waits until the schema of an earlier record is loaded.
    shown = shown.then(async () => {
      if (ended.signal.aborted) return;
      await onRecord(await read(record));
      given += 1;
      if (given === limit) ended.abort(enough);
    });
    shown.catch((error: unknown) => ended.abort(error));
  };

  const all = partitionsOf(topic).map(({ partition }) => partition);
  const partitions =
    key === null ? all : [partitionFor(Buffer.from(placingPart(at, topic, key), 'utf8'), topic.partitions)];
  const room = () => shown.catch(() => {});
  const log = { topic: topic.name, partitions, onRecord: take, room, signal: stop };
  try {
    if (untilEnd) await kafka.logReader.readToEnd(log);
    else await kafka.logTail.follow({ ...log, onlyNew: !fromBeginning });
    await shown;
  } catch (error) {
    if (error !== enough && (untilEnd || !(signal.aborted && error === signal.reason))) throw error;
  }
}

/** The part of a key that decides the partition. For a price: the instrument's id, with which the key begins. */
function placingPart({ topics }: Installation, { name }: TopicSpecification, key: string): string {
  const ofPrices = Object.values(PRICE_KINDS).some(({ topic }) => topics[topic].name === name);
  return ofPrices ? (key.split('/')[0] ?? key) : key;
}

/** Decodes records. Dead letters stay text. Offsets and states are JSON, or text that another program wrote. */
function recordReader({ topics }: Installation, schemaText: (id: number) => Promise<string>) {
  const json = [topics.offsets.name, topics.states.name];
  const readers = new Map<number, RecordReader>();

  async function readValue(topic: string, value: Buffer | null): Promise<ReadableValue> {
    if (value === null) return null;
    if (json.includes(topic)) return parsed(textOf(value));
    if (topic === topics['dead-letters'].name || value[0] !== AVRO_BEGINS) return textOf(value);
    const { schemaId } = readWireValue(value);
    const known = readers.get(schemaId);
    const reader = known ?? createRecordReader({ schemas: new Map([[schemaId, await schemaText(schemaId)]]) });
    readers.set(schemaId, reader);
    return reader.read(value);
  }

  return async ({ topic, partition, offset, timestampMs, key, headers, value }: CommittedRecord) => ({
    topic,
    partition,
    offset: String(offset),
    timestamp: new Date(timestampMs).toISOString(),
    key: key === null ? null : key.toString(),
    headers,
    value: await readValue(topic, value),
  });
}

function parsed(text: string): ReadableValue {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function textOf(value: Buffer): string {
  return value.toString(isUtf8(value) ? 'utf8' : 'latin1');
}
