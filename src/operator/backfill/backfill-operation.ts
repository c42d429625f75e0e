import { createHash } from 'node:crypto';
import type { SchemaRegistry } from '../../avro/registry.ts';
import { readSchemaText } from '../../avro/schema-files.ts';
import { priceSchemaName } from '../../decoding/priced.ts';
import { ConnectorError } from '../../errors.ts';
import type { HttpClient } from '../../http/client.ts';
import { RECORD_ALLOWANCE_BYTES } from '../../kafka/topic.ts';
import { BulkCaller } from '../../processor/bulk-caller.ts';
import { spreadOver } from '../../processor/other-items.ts';
import { type EnabledKind, enabledKinds } from '../../processor/prices/enabled-kinds.ts';
import { createProviderPrices } from '../../processor/prices/provider-prices.ts';
import { createMarketData } from '../../provider/market-data.ts';
import { createMarketDataHttp } from '../../setup/provider-client.ts';
import { createRegistry } from '../../setup/registry-client.ts';
import { silentLog } from '../../support/log.ts';
import { systemRandom } from '../../support/system-random.ts';
import type { Installation } from '../installation.ts';
import { type FollowedInstruments, readInstruments } from './backfill-instruments.ts';
import { askForPage, questionOf } from './backfill-page.ts';
import {
  BACKFILL_REQUEST,
  type BackfilledKind,
  checkedRange,
  checkedRate,
  pagePlan,
  requestText,
  type WindowRange,
} from './backfill-plan.ts';
import { backfillSeries, type SeriesProgress } from './backfill-series.ts';

/** So many products of all that are followed are asked for where many in a row were refused. */
const OTHERS_OF_REFUSED = 20;

export interface BackfillRequest {
  readonly kind: BackfilledKind;
  readonly range: WindowRange;
  /** Only these; none: all instruments whose prices are followed. */
  readonly isins: ReadonlySet<string>;
  /** Requests a second; null for half of marketData.requestsPerSecond. The rest is for a connector that runs beside. */
  readonly rate: number | null;
  readonly onProgress: (series: string, progress: SeriesProgress) => void;
  /** A request failed and is repeated. */
  readonly onTrouble: (text: string) => void;
}

export interface BackfillReport extends Pick<FollowedInstruments, 'absent' | 'unreadable'> {
  readonly series: readonly SeriesReport[];
}

export interface SeriesReport extends SeriesProgress {
  /** `daily/OHLC`, as in the metrics. */
  readonly series: string;
  /** Where its windows are. */
  readonly topic: string;
}

/**
 * Reads the past of daily or intraday prices and writes it to their topic, exactly once: every series of the settings, one
 * after the other. What an earlier run with the same request has done is not done again, as long as the broker keeps the
 * offsets of a group without members (offsets.retention.minutes, seven days by default).
 *
 * @throws ConnectorError SETTINGS_INVALID for a range that may not be written; and as provider, registry and Kafka do.
 */
export async function backfill(at: Installation, request: BackfillRequest): Promise<BackfillReport> {
  const { settings, clock, signal } = at;
  const { marketData } = settings;
  if (marketData === null) {
    throw new ConnectorError('SETTINGS_INVALID', 'marketData.url is not set: set it, or MARKET_DATA_URL.');
  }
  const requestsPerSecond = checkedRate(request.rate, marketData.requestsPerSecond);
  const all = seriesOf(at, request.kind);
  for (const { plan } of all) if (plan.windows) checkedRange(request.range, plan.windows.oldestMs, clock.wallMs());
  const registry = await createRegistry(settings.schemaRegistry, { clock, log: silentLog });
  const { followed, instruments, absent, unreadable } = await readInstruments(at, registry, request.isins);
  const limited = { ...marketData, requestsPerSecond };
  const http = await createMarketDataHttp(limited, { clock, random: systemRandom, log: silentLog });
  try {
    const reports: SeriesReport[] = [];
    for (const series of all) {
      const prepared = await prepare(at, request, { series, registry, http, followed });
      const progress = await backfillSeries(at, { ...prepared, instruments });
      reports.push({ series: series.kind, topic: prepared.topic.name, ...progress });
      signal.throwIfAborted();
    }
    return { series: reports, absent, unreadable };
  } finally {
    await http.close();
  }
}

/** Those of the settings, whether or not they are followed. */
function seriesOf({ settings }: Installation, kind: BackfilledKind): readonly EnabledKind[] {
  const { prices } = settings;
  const { overview, daily, intraday } = prices.kinds;
  const only = (one: BackfilledKind) => ({ enabled: one === kind });
  const kinds = {
    overview: { ...overview, enabled: false },
    daily: { ...daily, ...only('daily') },
    intraday: { ...intraday, ...only('intraday') },
  };
  return enabledKinds({ ...prices, enabled: true, kinds });
}

async function prepare(
  at: Installation,
  { kind: base, range, isins, onProgress, onTrouble }: BackfillRequest,
  parts: Pick<FollowedInstruments, 'followed'> & {
    readonly series: EnabledKind;
    readonly registry: SchemaRegistry;
    readonly http: HttpClient;
  },
) {
  const { settings, prefix, kafka, topics, clock, signal } = at;
  const { series, registry, http, followed } = parts;
  const { kind, plan } = series;
  const { windows } = plan;
  if (windows === null) throw new TypeError('An overview has no past.');
  const topic = topics[series.topic];
  const { maxMessageBytes, refused } = await kafka.ensureTopics([topic], { create: settings.topics.create });
  const refusal = refused.get(topic.name);
  if (refusal !== undefined) throw refusal;
  const marketData = createMarketData({ http });
  const asking = { slice: range };
  const events = {
    batchBisected() {},
    batchLimitLearnt() {},
    bulkAttemptFailed: ({ err }: { readonly err: Error }) => onTrouble(err.message),
  };
  const prices = createProviderPrices({
    marketData,
    asked: [{ ...plan, query: () => windows.between(asking.slice.fromMs, asking.slice.toMs) }],
    schemaId: (_, asked) => registry.schemaId(`${topic.name}-value`, readSchemaText(priceSchemaName(base)), asked),
    maxValueBytes: () => (maxMessageBytes.get(topic.name) ?? Number.POSITIVE_INFINITY) - RECORD_ALLOWANCE_BYTES,
    onMismatch: settings.mapping.onMismatch,
    assumedZone: settings.marketData?.assumedZone ?? null,
    clock,
  });
  const caller = new BulkCaller({
    ...settings.prices,
    togetherMs: 0,
    // A range before the provider's history is refused for each instrument; a product without prices, for it alone.
    sampleOthers: () => spreadOver(followed, OTHERS_OF_REFUSED, systemRandom).map(questionOf),
    prices,
    clock,
    random: systemRandom,
    events,
  });
  const targets = {
    prices: new Map([[kind, topic]]),
    deadLetters: topics['dead-letters'],
    endpoint: marketData.bulkEndpoint,
  };
  const deadLetterHeaders = { [BACKFILL_REQUEST]: requestText(base, range) };
  const { slices, instruments: instrumentsPerPage } = pagePlan(range, windows.lengthMs, settings.prices.maxItems);
  return {
    slices,
    instrumentsPerPage,
    topic,
    transactionalId: `${prefix}-backfill-${base}`,
    groupId: `${prefix}-backfill-${base}-${nameOf(plan.series, range, isins)}`,
    ask: (
      page: Parameters<typeof askForPage>[0],
      slice: WindowRange,
      isNews: Parameters<typeof askForPage>[2]['isNews'],
    ) => {
      asking.slice = slice;
      const wallMs = clock.wallMs();
      return askForPage(page, slice, { kind, caller, targets, isNews, deadLetterHeaders, wallMs, signal });
    },
    onProgress: (progress: SeriesProgress) => onProgress(kind, progress),
  };
}

/** The same for the same request alone: a run goes on from the progress of the one before it. */
function nameOf(series: string | null, { fromMs, toMs }: WindowRange, isins: ReadonlySet<string>): string {
  const request = JSON.stringify([series, fromMs, toMs, [...isins].sort()]);
  return createHash('sha256').update(request).digest('hex').slice(0, 16);
}
