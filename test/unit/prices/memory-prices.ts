import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import type { LogReader } from '../../../src/kafka/log-reader.ts';
import { keyedRecord } from '../../../src/kafka/record.ts';
import { partitionsOf } from '../../../src/kafka/topic.ts';
import { BulkCaller } from '../../../src/prices/bulk-caller.ts';
import type { BulkPrices, PriceKind } from '../../../src/prices/bulk-prices.ts';
import type { EnabledKind } from '../../../src/prices/enabled-kinds.ts';
import { PartitionTask } from '../../../src/prices/partition-task.ts';
import { runPriceMember } from '../../../src/prices/price-member.ts';
import { createReportedFailuresReader } from '../../../src/prices/read-reported-failures.ts';
import { createSeriesReader } from '../../../src/prices/read-windows.ts';
import { createMissedNotices } from '../../../src/prices/window-progress.ts';
import { NO_TERMS } from '../../../src/records/avro/instrument-terms.ts';
import type { PricedInstrumentReader } from '../../../src/records/avro/priced-instrument-reader.ts';
import type { Clock } from '../../../src/support/clock.ts';
import { answersOf, type PriceInput, type PriceLog, priceViolations } from '../../support/ledgers/price-log.ts';
import { recordedEvents } from '../../support/ledgers/recorded-events.ts';
import { MemoryBroker } from '../../support/memory-kafka/memory-broker.ts';
import { createMemoryCluster, type MemoryClusterOptions } from '../../support/memory-kafka/memory-cluster.ts';
import { coreSettings } from '../../support/priced-core.ts';
import { skippingClock } from '../../support/runner/manual-clock.ts';

export const INSTRUMENTS = 40;
const PARTITIONS = 3;
const GROUP = 'prices';
export const SERIES_SCHEMA_ID = 23;
export const NOTIFICATION_SCHEMA_ID = 9;
/** Values that begin with this are no instruments. */
export const POISON = 'poison';

const topic = (name: string, partitions: number) => ({ name, partitions, replicationFactor: 1, settings: {} });
export const TOPICS = {
  instruments: topic('instruments', PARTITIONS),
  prices: topic('prices', PARTITIONS),
  intraday: topic('intraday-prices', PARTITIONS),
  notifications: topic('notifications', 1),
  deadLetters: topic('dead-letters', 1),
};

/** Values of instruments in these tests are their isin; an empty one is an instrument without. */
const TEXT_ISINS: PricedInstrumentReader = {
  read(value) {
    if (value.subarray(0, POISON.length).equals(Buffer.from(POISON)))
      throw new ConnectorError('RECORD_UNREADABLE', 'it is no instrument');
    return { ...NO_TERMS, isin: value.length === 0 ? null : String(value) };
  },
  load: async () => true,
};

/** A provider that answers at once; the value of a price is its isin. */
export const ALL_PRICED: BulkPrices = {
  async ask(_kind, questions) {
    const answers = questions.map(({ instrumentId, isin }) => {
      const record = { key: Buffer.from(instrumentId), value: Buffer.from(isin), digest: 0n };
      return { kind: 'prices' as const, records: [record], isQuotingPulled: null };
    });
    return { answers, drift: 0, roundedNumbers: 0 };
  },
};

/** A member of the group with clients of its own, as another process has them. */
export function memberOf(options: {
  readonly broker: MemoryBroker;
  readonly clock: Clock;
  readonly prices: BulkPrices;
  readonly random: () => number;
  /** In place of the broker's own. */
  readonly reader?: LogReader;
  /** In place of one for texts. */
  readonly isins?: PricedInstrumentReader;
  /** In place of latest prices alone. */
  readonly kinds?: readonly [EnabledKind, ...EnabledKind[]];
  /** Without it a record waits for its answer for ever: a clock that skips time leaves a provider none to answer in. */
  readonly answerWithinMs?: number;
  readonly onStep?: NonNullable<MemoryClusterOptions['onStep']>;
}) {
  const { broker, clock, prices, random, onStep } = options;
  const cluster = createMemoryCluster({ broker, ...(onStep && { onStep }) });
  const { events, seen } = recordedEvents();
  const stopping = new AbortController();
  const caller = new BulkCaller({ prices, maxItems: 7, concurrency: 2, togetherMs: 5, clock, random, events });
  let members = 0;
  const series = options.kinds ?? [];
  const kinds = options.kinds ?? ([{ kind: 'overview', refreshIntervalMs: 3_600_000 }] as const);
  const core = coreSettings({
    kinds,
    lingerMs: 10,
    answerWithinMs: options.answerWithinMs ?? Number.POSITIVE_INFINITY,
    maxItems: () => 7,
    maxBackoffMs: 7_200_000,
    wallMs: () => clock.wallMs() - clock.monotonicMs(),
    random,
  });
  const targets = {
    prices: new Map<PriceKind, typeof TOPICS.prices>([
      ['overview', TOPICS.prices],
      ...series.map(({ kind }) => [kind, TOPICS.intraday] as const),
    ]),
    deadLetters: TOPICS.deadLetters,
    endpoint: '/bulk',
  };
  const readSeries = createSeriesReader({
    kinds: series,
    topicOf: () => TOPICS.intraday,
    schemaId: async () => SERIES_SCHEMA_ID,
    reader: cluster.logReader,
    clock,
    events,
  });
  const missedNotices = createMissedNotices({
    kinds: series,
    topic: TOPICS.notifications,
    registry: { schemaId: async () => NOTIFICATION_SCHEMA_ID },
  });
  const readReportedFailures = createReportedFailuresReader({
    reported: core.reported,
    targets,
    reader: cluster.logReader,
    clock,
    signal: stopping.signal,
  });
  const ended = runPriceMember({
    groupReader: cluster.groupReader,
    groupId: GROUP,
    members(count) {
      members = count;
    },
    topics: [TOPICS.instruments.name],
    partitions: partitionsOf(TOPICS.instruments),
    kinds,
    async verifyStart() {},
    createTask: ({ partition, ownershipProof, signal }, before) =>
      new PartitionTask({
        before,
        partition,
        groupId: GROUP,
        transactionalId: `prices-${partition.partition}`,
        writer: cluster.transactionalWriter(`prices-${partition.partition}`, { ownershipProof }),
        ownershipProof,
        committedOffset: (opening) => cluster.consumerOffset(GROUP, partition, opening),
        reader: options.reader ?? cluster.logReader,
        instrumentReader: options.isins ?? TEXT_ISINS,
        async readWindows(answered, opening) {
          await readReportedFailures(opening);
          return readSeries(partition.partition, answered, opening);
        },
        caller,
        core,
        targets,
        missedNotices,
        maxUnanswered: 20,
        clock,
        random,
        events,
        signal,
      }),
    clock,
    random,
    events,
    signal: stopping.signal,
  });
  ended.catch(() => {});
  const named = (name: string) => seen.filter((event) => event.name === name).map(({ fields }) => fields);
  return {
    seen,
    ended,
    named,
    sum: (name: string, field: string) => named(name).reduce((total, fields) => total + Number(fields[field]), 0),
    members: () => members,
    async stop() {
      stopping.abort(new Error('the test stops it'));
      await ended.catch(() => {});
      await cluster.close();
    },
  };
}

/** An installation in memory, with a writer of instruments; its members stop when the test ends. */
export async function memoryPrices(t: TestContext, clock: Clock = skippingClock()) {
  const broker = new MemoryBroker(() => clock.wallMs());
  for (const each of Object.values(TOPICS)) broker.createTopic(each);
  const source = createMemoryCluster({ broker }).transactionalWriter('source');
  await source.open(async () => {}, new AbortController().signal);
  return {
    clock,
    broker,
    /** In one transaction: ids with what stands on the topic for them; null: they are gone. */
    write: (...values: (readonly [id: string, value: string | Buffer | null])[]) =>
      source.commit({
        records: values.map(([id, value]) =>
          keyedRecord(TOPICS.instruments, id, value === null ? null : Buffer.from(value), {}),
        ),
      }),
    start(options: Partial<Parameters<typeof memberOf>[0]> = {}) {
      const member = memberOf({ broker, clock, prices: ALL_PRICED, random: () => 0.5, ...options });
      t.after(() => member.stop());
      return member;
    },
  };
}

const PATIENCE_MS = 300_000;

/** Looks after each turn of the event loop. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS;
  while (!holds()) {
    assert.ok(performance.now() < deadlineMs, `it takes too long until ${what}`);
    await turns(1);
  }
}

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** What is committed, with what is wrong about it. */
export function priceLogOf(broker: MemoryBroker) {
  const partitions = Array.from({ length: PARTITIONS }, (_, partition) => partition);
  const inputs = partitions.flatMap((partition) =>
    broker.readCommitted(TOPICS.instruments.name, partition).map(({ key, value, offset }): PriceInput => {
      const text = value === null ? null : String(value);
      const isUnreadable = text?.startsWith(POISON) || !/^\d+$/.test(String(key));
      const kind = isUnreadable ? 'unreadable' : text === null ? 'gone' : text === '' ? 'noIsin' : 'live';
      return { partition, offset: Number(offset), id: String(key), kind, isin: kind === 'live' ? text : null };
    }),
  );
  const prices = partitions.flatMap((partition) => broker.readCommitted(TOPICS.prices.name, partition));
  const results: PriceLog['results'] = [
    ...prices.map(({ key, value, headers }) => ({
      kind: value === null ? ('tombstone' as const) : ('price' as const),
      id: String(key),
      isin: value === null ? null : String(value),
      answers: answersOf(headers['spc-input']),
    })),
    ...broker.readCommitted(TOPICS.deadLetters.name, 0).map(({ key, headers }) => ({
      kind: 'deadLetter' as const,
      id: String(key),
      isin: null,
      answers: answersOf(headers['spc-input']),
    })),
  ];
  const committed = new Map(
    partitions.map((partition) => [
      partition,
      Number(broker.consumerOffset(GROUP, { topic: TOPICS.instruments.name, partition }) ?? 0n),
    ]),
  );
  return {
    results,
    violations(isAtRest: boolean): string[] {
      const unread = inputs.filter(({ partition, offset }) => offset >= (committed.get(partition) ?? 0));
      const waiting = isAtRest ? unread.map(({ partition, offset }) => `${partition}:${offset} is unanswered`) : [];
      return [...priceViolations({ inputs, results, committed }), ...waiting];
    },
  };
}
