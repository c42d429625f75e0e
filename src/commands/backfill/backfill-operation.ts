import { createHash } from 'node:crypto';
import { ConnectorError } from '../../errors.ts';
import type { CommittedOffset } from '../../kafka/cluster.ts';
import type { OutgoingRecord } from '../../kafka/record.ts';
import { partitionsOf, RECORD_ALLOWANCE_BYTES, type TopicSpecification } from '../../kafka/topic.ts';
import { toAll } from '../../observe/event-table.ts';
import type { Events, PriceProblem } from '../../observe/events.ts';
import { BulkCaller } from '../../prices/bulk-caller.ts';
import type { PriceQuestion, QuestionOutcome } from '../../prices/bulk-prices.ts';
import { type CoreResult, problemOf } from '../../prices/core/core-messages.ts';
import type { AskedInstrument } from '../../prices/core/instrument.ts';
import { type EnabledKind, enabledKinds } from '../../prices/enabled-kinds.ts';
import { PROBLEM, priceRecords } from '../../prices/price-records.ts';
import { createProviderPrices } from '../../prices/provider-prices.ts';
import { readTable } from '../../prices/read-table.ts';
import { backfillText } from '../../prices/window-progress.ts';
import type { HttpClient } from '../../provider/http/client.ts';
import { createMarketData } from '../../provider/market-data.ts';
import { createPricedInstrumentReader } from '../../records/avro/priced-instrument-reader.ts';
import type { SchemaRegistry } from '../../records/avro/registry.ts';
import { readSchemaText } from '../../records/avro/schema-files.ts';
import { priceSchemaName } from '../../records/decoding/priced.ts';
import type { Installation } from '../../run/installation.ts';
import { priceInputs } from '../../run/planned-topics.ts';
import { createRegistry } from '../../run/registry-client.ts';
import { systemRandom } from '../../support/clock.ts';
import { silentLog } from '../../support/log.ts';
import { retry } from '../../support/retry.ts';
import { BACKFILL } from '../../worker/target.ts';
import { atMarketData } from '../provider-session.ts';
import {
  BACKFILL_GROUP,
  BACKFILL_REQUEST,
  type BackfilledKind,
  checkedRate,
  checkRange,
  opensWithin,
  pagePlan,
  type Refuse,
  type WindowRange,
} from './backfill-plan.ts';

/** If the provider refuses many products in a row, this many other followed products are requested too. */
const OTHERS_OF_REFUSED = 20;

interface BackfillRequest {
  readonly kind: BackfilledKind;
  readonly range: WindowRange;
  /** Empty means all instruments whose prices are followed. */
  readonly isins: ReadonlySet<string>;
  /** Requests per second. Null: half of marketData.requestsPerSecond; the other half is for a running connector. */
  readonly rate: number | null;
  readonly refuse: Refuse;
  readonly onProgress: (series: string, progress: SeriesProgress & Pick<SeriesReport, 'groupId'>) => void;
  readonly onTrouble: (text: string) => void;
}

export type BackfillReport = Awaited<ReturnType<typeof backfill>>;

export interface SeriesReport extends SeriesProgress {
  /** The name of the series in the metrics, such as `daily/OHLC`. */
  readonly series: string;
  readonly topic: string;
  /** The consumer group whose offset is the progress of this request. */
  readonly groupId: string;
}

/**
 * Writes every series of the settings, one after the other, each window exactly once. A repeated request continues the
 * earlier run as long as the broker keeps the offsets of a group without members (offsets.retention.minutes).
 */
export async function backfill(at: Installation, request: BackfillRequest) {
  const { settings, clock, signal } = at;
  const { marketData, prices } = settings;
  const isFollowed = prices.enabled && prices.kinds[request.kind].enabled;
  const limit = marketData?.requestsPerSecond ?? Number.POSITIVE_INFINITY;
  const requestsPerSecond = checkedRate(request.rate, limit, request.refuse);
  const limited = marketData && { ...marketData, requestsPerSecond };
  return atMarketData({ settings: { ...settings, marketData: limited }, clock }, async (http) => {
    const all = seriesOf(at, request.kind);
    const now = { wallMs: clock.wallMs(), isFollowed };
    // The series with the longest windows ends first, so its message names a --to that every series accepts.
    const byLength = all.flatMap(({ windows }) => windows ?? []).sort((a, b) => b.lengthMs - a.lengthMs);
    for (const windows of byLength) checkRange(request.range, windows, now, request.refuse);
    const registry = await createRegistry(settings.schemaRegistry, { clock, log: silentLog });
    const { followed, instruments, absent, unreadable } = await readInstruments(at, registry, request.isins);
    const reports: SeriesReport[] = [];
    for (const series of all) {
      const prepared = await prepare(at, request, { series, registry, http, followed });
      const progress = await backfillSeries(at, { ...prepared, instruments });
      reports.push({ series: series.kind, topic: prepared.topic.name, groupId: prepared.groupId, ...progress });
      signal.throwIfAborted();
    }
    return { series: reports, absent, unreadable };
  });
}

/** All series of this kind in the settings, even if the price processor does not follow the kind. */
function seriesOf({ settings }: Installation, kind: BackfilledKind): readonly EnabledKind[] {
  const { prices } = settings;
  const { overview, daily, intraday } = prices.kinds;
  const kinds = {
    overview: { ...overview, enabled: false },
    daily: { ...daily, enabled: kind === 'daily' },
    intraday: { ...intraday, enabled: kind === 'intraday' },
  };
  return enabledKinds({ ...prices, enabled: true, kinds });
}

async function prepare(
  at: Installation,
  { kind: base, range, isins, onProgress, onTrouble }: BackfillRequest,
  parts: {
    readonly series: EnabledKind;
    readonly registry: SchemaRegistry;
    readonly http: HttpClient;
    readonly followed: readonly AskedInstrument[];
  },
) {
  const { settings, prefix, kafka, topics, clock, signal } = at;
  const { series, registry, http, followed } = parts;
  const { kind, windows } = series;
  if (windows === null) throw new TypeError('An overview has no past.');
  const topic = topics[series.topic];
  const { maxMessageBytes, refused } = await kafka.ensureTopics([topic], { create: settings.topics.create });
  const refusal = refused.get(topic.name);
  if (refusal !== undefined) throw refusal;
  const marketData = createMarketData({ http });
  const asking = { slice: range };
  const events = toAll([{ bulkAttemptFailed: ({ err }) => onTrouble(err.message) }]);
  const prices = createProviderPrices({
    marketData,
    kinds: [{ ...series, windows: { ...windows, range: () => asking.slice } }],
    schemaId: (_, asked) => registry.schemaId(`${topic.name}-value`, readSchemaText(priceSchemaName(base)), asked),
    maxValueBytes: () => (maxMessageBytes.get(topic.name) ?? Number.POSITIVE_INFINITY) - RECORD_ALLOWANCE_BYTES,
    onMismatch: settings.mapping.onMismatch,
    assumedZone: settings.marketData?.assumedZone ?? null,
    clock,
  });
  const caller = new BulkCaller({
    ...settings.prices,
    togetherMs: 0,
    // If the provider also refuses these other products, it refuses the whole range, for example because its history begins later.
    sampleOthers: () => spreadOver(followed).map(questionOf),
    prices,
    clock,
    random: systemRandom,
    events,
  });
  const deadLetters = topics['dead-letters'];
  const targets = { prices: new Map([[kind, topic]]), deadLetters, endpoint: marketData.bulkEndpoint };
  // Equal requests have equal names, so a repeated request continues from the earlier progress.
  const request = JSON.stringify([series.series, range.fromMs, range.toMs, [...isins].sort()]);
  const name = createHash('sha256').update(request).digest('hex').slice(0, 16);
  const groupId = `${prefix}-backfill-${base}-${name}`;
  const headers = { [BACKFILL_REQUEST]: backfillText(base, range), [BACKFILL_GROUP]: groupId };
  const { slices, instruments: instrumentsPerPage } = pagePlan(range, windows.lengthMs, settings.prices.maxItems);
  const ask: SeriesBackfill['ask'] = async (asked, slice, isNews) => {
    asking.slice = slice;
    const wallMs = clock.wallMs();
    const outcomes: QuestionOutcome[] = [];
    await caller.ask(
      { kind, questions: asked.map(questionOf), isWanted: () => true },
      (positions, answered) => {
        for (const [at, position] of positions.entries()) outcomes[position] = answered[at] as QuestionOutcome;
      },
      signal,
    );
    const results = asked.map((instrument, position) => resultOf(instrument, outcomes[position], slice, isNews));
    const part = { batch: { kind, questions: asked, inputs: [], outcomes }, results };
    // A backfill answers no input record, so the input has no topic.
    const input = { topic: '', partition: 0 };
    const written = { input, targets, windows: new Map(), wallMs, source: BACKFILL, headers };
    const { records, report } = priceRecords(part, written);
    const failed = results.flatMap((result) =>
      result.kind === 'failure' ? [{ isin: result.instrument.isin, problem: result.problem }] : [],
    );
    return { records, windows: report.records, deadLetters: report.deadLetters, failed };
  };
  return {
    slices,
    instrumentsPerPage,
    topic,
    transactionalId: `${prefix}-backfill-${base}`,
    groupId,
    ask,
    onProgress: (progress: SeriesProgress) => onProgress(kind, { ...progress, groupId }),
  };
}

/** Returns records like the price processor, or the failure. `isNews`: true if the failure has no dead letter yet. */
function resultOf(
  instrument: AskedInstrument,
  outcome: QuestionOutcome | undefined,
  range: WindowRange,
  isNews: Parameters<SeriesBackfill['ask']>[2],
): CoreResult {
  if (outcome === undefined || outcome.kind === 'dropped')
    throw new RangeError('The response to a page has fewer outcomes than the page has questions.');
  if (outcome.kind === 'prices') {
    const records = outcome.records.filter(({ key }) => opensWithin(String(key), range));
    return { kind: 'prices', instrument, answer: { ...outcome, records }, offsets: [] };
  }
  const problem = problemOf(outcome);
  const isDeadLetter = isNews(instrument.id, problem);
  const failure = { kind: 'failure', instrument, outcome, problem, offsets: [], isDeadLetter } as const;
  return { ...failure, isRepaid: false, withdrawal: null };
}

function questionOf({ id, isin, terms: { currency, priceType } }: AskedInstrument): PriceQuestion {
  return { instrumentId: id, isin, currency, priceType };
}

function withEachIsinOnce(instruments: readonly AskedInstrument[]): readonly (readonly AskedInstrument[])[] {
  const groups: Map<string, AskedInstrument>[] = [];
  for (const instrument of instruments) {
    const group = groups.find((one) => !one.has(instrument.isin));
    if (group === undefined) groups.push(new Map([[instrument.isin, instrument]]));
    else group.set(instrument.isin, instrument);
  }
  return groups.map((group) => [...group.values()]);
}

const BEHIND_ALL = 2n ** 62n;

/**
 * Reads the instruments of `prices.from`. `followed`: all instruments; `instruments`: the instruments to backfill,
 * sorted by `progressOf`; `absent`: isins without an instrument; `unreadable`: omitted records. Exported for tests.
 */
export async function readInstruments(
  { settings, kafka, topics, signal }: Installation,
  registry: Pick<SchemaRegistry, 'schemaText'>,
  isins: ReadonlySet<string>,
) {
  const instrumentReader = createPricedInstrumentReader((id, asked) => registry.schemaText(id, asked));
  const followed: AskedInstrument[] = [];
  const unreadable: Parameters<Events['recordsUnreadable']>[0][] = [];
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
  const byProgress = found.map((instrument) => ({ instrument, at: progressOf(instrument) }));
  byProgress.sort((one, other) => (one.at < other.at ? -1 : 1));
  const instruments = byProgress.map(({ instrument }) => instrument);
  return { followed, instruments, absent: [...isins].filter((isin) => !present.has(isin)), unreadable };
}

function spreadOver(all: readonly AskedInstrument[]): readonly AskedInstrument[] {
  const step = Math.ceil(all.length / OTHERS_OF_REFUSED);
  const first = Math.floor(systemRandom() * step);
  return all.filter((_, at) => at % step === first);
}

/** The highest committed offset. Exported for tests. */
export const HIGHEST = 2n ** 63n - 1n;
const BACK_OFF = { initialMs: 500, maximumMs: 30_000 };
const MOST_OPENINGS = 10;
/** The most that the broker's clock is behind our clock. */
const CLOCK_MARGIN_MS = 3_600_000;

/** The records of some instruments for a part of the range. */
interface Page {
  readonly records: readonly OutgoingRecord[];
  readonly windows: number;
  readonly deadLetters: number;
  readonly failed: readonly { readonly isin: string; readonly problem: PriceProblem }[];
}

interface SeriesBackfill {
  /** Sorted by `progressOf`. */
  readonly instruments: readonly AskedInstrument[];
  readonly slices: readonly WindowRange[];
  readonly instrumentsPerPage: number;
  readonly topic: TopicSpecification;
  readonly transactionalId: string;
  /** A consumer group. Its committed offset on the first partition of the topic is the progress; the metadata has the begin and the products. */
  readonly groupId: string;
  /** Requests prices; `instruments` has each isin at most once. */
  readonly ask: (
    instruments: readonly AskedInstrument[],
    slice: WindowRange,
    isNews: (instrumentId: string, problem: PriceProblem) => boolean,
  ) => Promise<Page>;
  readonly onProgress: (progress: SeriesProgress) => void;
}

/** `failed`: products that failed in this run or an earlier run. A repeated command does not request them again. */
interface SeriesProgress extends Omit<Page, 'records'> {
  readonly instruments: number;
  /** Instruments that this run and earlier runs have completed. */
  readonly done: number;
}

/**
 * Writes one series. One transaction holds windows of some instruments, their dead letters and the progress. A newer
 * run of the same kind of prices fences the writer of this run. Exported for tests.
 */
export async function backfillSeries(
  { kafka, topics, clock, signal }: Installation,
  backfill: SeriesBackfill,
): Promise<SeriesProgress> {
  const { instruments, instrumentsPerPage, topic, groupId, transactionalId, onProgress } = backfill;
  const place = { topic: topic.name, partition: 0 };
  const counts = { windows: 0, deadLetters: 0 };
  const failed = new Map<string, PriceProblem>();
  /** The ids that have a window or a dead letter of this request, or that this run requested. */
  const answered = new Set<string>();
  const writer = kafka.transactionalWriter(transactionalId, {
    abortHanging: () => [...partitionsOf(topic), ...partitionsOf(topics['dead-letters'])],
    abortHangingOffset: { groupId, ...place },
  });

  /** A transaction commits windows and dead letters with the progress, so the topics name all products with an answer. */
  async function readAnswered(from: readonly TopicSpecification[], sinceMs: number): Promise<void> {
    const isins = new Map(instruments.map(({ id, isin }) => [id, isin]));
    for (const one of from) {
      await kafka.logReader.readToEnd({
        topic: one.name,
        partitions: partitionsOf(one).map(({ partition }) => partition),
        sinceMs,
        toHighWatermark: true,
        onRecord({ key, headers }) {
          const [id = ''] = String(key).split('/');
          const isin = headers[BACKFILL_GROUP] === groupId ? isins.get(id) : undefined;
          if (isin === undefined) return;
          answered.add(id);
          if (headers[PROBLEM] !== undefined) failed.set(isin, headers[PROBLEM] as PriceProblem);
        },
        signal,
      });
    }
  }

  async function writeFrom({ offset: next, metadata }: CommittedOffset): Promise<SeriesProgress> {
    const [begun = '', digest] = metadata.split(' ');
    // Earlier versions committed no metadata, and their windows have no header.
    const isChanged = begun !== '' && digest !== digestBelow(instruments, next);
    if (next > 0n) {
      const sinceMs = Math.max(0, Number(begun) - CLOCK_MARGIN_MS);
      await readAnswered([topics['dead-letters'], ...(isChanged ? [topic] : [])], sinceMs);
    }
    const earlier = instruments.filter((one) => progressOf(one) < next && isChanged && !answered.has(one.id));
    const open = [...earlier, ...instruments.filter((one) => progressOf(one) >= next)];
    let written = 0;
    const progress = () => {
      const products = [...failed].map(([isin, problem]) => ({ isin, problem }));
      const done = instruments.length - open.length + written;
      return { instruments: instruments.length, done, ...counts, failed: products };
    };
    onProgress(progress());
    while (written < open.length) {
      const together = pageFrom(open, written, instrumentsPerPage);
      const pages = await askFor(together, backfill);
      written += together.length;
      const [last, following] = [open[written - 1] as AskedInstrument, open[written]];
      const behind = following === undefined ? progressOf(last) + 1n : progressOf(following);
      const offset = behind > next ? behind : next;
      const records = pages.flatMap((page) => page.records);
      const covered = written < earlier.length ? digest : digestBelow(instruments, offset);
      const progressed = { groupId, ...place, offset, metadata: begun && `${begun} ${covered}` };
      await writer.commit({ records, consumerOffset: progressed });
      for (const { id } of together) answered.add(id);
      for (const page of pages) {
        counts.windows += page.windows;
        counts.deadLetters += page.deadLetters;
        for (const { isin, problem } of page.failed) failed.set(isin, problem);
      }
      onProgress(progress());
    }
    return progress();
  }

  const session = async () => {
    const committed = await writer.open((opening) => kafka.consumerOffset(groupId, place, opening), signal);
    return writeFrom(committed ?? { offset: 0n, metadata: `${clock.wallMs()} ${digestBelow(instruments, 0n)}` });
  };
  const mayRetry = (error: unknown) =>
    error instanceof ConnectorError && error.action === 'reopenWriter' && error.code !== 'WRITER_FENCED';
  try {
    const attempts = { backOff: BACK_OFF, attempts: MOST_OPENINGS, mayRetry };
    return await retry(session, { ...attempts, clock, random: systemRandom, signal });
  } catch (error) {
    if (!(error instanceof ConnectorError) || error.code !== 'WRITER_FENCED') throw error;
    const text =
      'Another backfill of the same kind of prices has begun, so this one has ended. Wait until the other one has ended, ' +
      'then run the same command again.';
    throw new ConnectorError('WRITER_FENCED', text, { cause: error });
  } finally {
    await writer.close();
  }
}

/** Changes when a product below the progress came or left. */
function digestBelow(instruments: readonly AskedInstrument[], next: bigint): string {
  const ids = instruments.filter((one) => progressOf(one) < next).map(({ id }) => id);
  return createHash('sha256').update(ids.sort().join()).digest('hex').slice(0, 16);
}

/** Keeps ids such as 7 and -7, which give the same offset, on one page. Otherwise a resumed run would skip or repeat one of them. */
function pageFrom(instruments: readonly AskedInstrument[], from: number, size: number): readonly AskedInstrument[] {
  let end = Math.min(from + size, instruments.length);
  const progress = (at: number) => progressOf(instruments[at] as AskedInstrument);
  while (end < instruments.length && progress(end) === progress(end - 1)) end += 1;
  return instruments.slice(from, end);
}

/** Requests each part of the range. Equal failures of an instrument become one dead letter. */
async function askFor(page: readonly AskedInstrument[], { slices, ask }: SeriesBackfill): Promise<readonly Page[]> {
  const known = new Set<string>();
  const isNews = (id: string, problem: PriceProblem) => known.size < known.add(`${id} ${problem}`).size;
  const answered: Page[] = [];
  for (const slice of slices)
    for (const instruments of withEachIsinOnce(page)) answered.push(await ask(instruments, slice, isNews));
  return answered;
}

/** The id as a consumer offset below `HIGHEST`. The ids 7 and -7 give the same offset. Exported for tests. */
export function progressOf({ id }: Pick<AskedInstrument, 'id'>): bigint {
  const number = BigInt(id);
  const size = number < 0n ? -number : number;
  return size < HIGHEST ? size : HIGHEST - 1n;
}
