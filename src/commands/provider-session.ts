import type { Settings, SourceSettings, SourceSettingsOf } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import { toAll } from '../observe/event-table.ts';
import type { HttpClient } from '../provider/http/client.ts';
import type { ReferenceData } from '../provider/reference-data.ts';
import { createRecordReader, type RecordReader } from '../records/avro/record-reader.ts';
import type { SchemaRegistry } from '../records/avro/registry.ts';
import { readSchemaText, type SchemaName } from '../records/avro/schema-files.ts';
import { planSources } from '../run/planned-topics.ts';
import { createProviderHttp } from '../run/provider-client.ts';
import { kindOf } from '../sources/kinds/all.ts';
import { instrumentDecoders, instrumentRequests } from '../sources/kinds/instrument-requests.ts';
import type { OpenedSource, Registered, SourceContext } from '../sources/kinds/kind.ts';
import { asksForLess, type InstrumentsPage, type InstrumentsProvider } from '../sources/tasks/instruments-provider.ts';
import { type Clock, systemClock, systemRandom } from '../support/clock.ts';
import { silentLog } from '../support/log.ts';
import { retry } from '../support/retry.ts';

/** The schema id in records that are only shown or compared. No schema is registered for these records. */
const NO_SCHEMA_ID = 0;
const NO_REGISTRY: SchemaRegistry = {
  schemaId: async () => NO_SCHEMA_ID,
  async schemaText() {
    throw new Error('A session has no registry.');
  },
};
const ALL_MAY_FAIL = 1;
const ATTEMPTS = { backOff: { initialMs: 500, maximumMs: 10_000 }, attempts: 6, mayRetry: isWorthWaiting };
/** The longest Retry-After that a command obeys. After a longer Retry-After, the command ends with the error. */
const LONGEST_WAIT_MS = 60_000;

/** Reads reference data as the sources do. Needs no registry, and accepts any number of rows that cannot be mapped. */
export interface ProviderSession {
  readonly http: HttpClient;
  /** Opens any source, with `limit` rows or items per response if the interface allows a limit. */
  open(source: SourceSettings, limit: number): OpenedSource;
  instruments(
    source: SourceSettingsOf<'instruments' | 'events'>,
    limit: number,
  ): { readonly referenceData: ReferenceData; readonly provider: InstrumentsProvider };
  /** Reads every page of the list. Repeats the request for a page after a temporary failure. */
  pages(provider: Pick<InstrumentsProvider, 'page'>): AsyncGenerator<InstrumentsPage>;
  /** Repeats a request a few times after temporary failures and refusals of its size. @throws ConnectorError of the last attempt. */
  patiently<Answer>(request: () => Promise<Answer>): Promise<Answer>;
}

export function atProvider<Found>(
  at: { readonly settings: Settings; readonly signal: AbortSignal; readonly clock?: Clock },
  work: (session: ProviderSession) => Promise<Found>,
): Promise<Found> {
  const { settings, signal, clock = systemClock } = at;
  return withClient('referenceData', settings.referenceData, clock, (http) =>
    work(createSession(settings, http, clock, signal)),
  );
}

/** Like `atProvider`, but for market data: `work` receives the HTTP client. */
export function atMarketData<Found>(
  { settings, clock = systemClock }: { readonly settings: Settings; readonly clock?: Clock },
  work: (http: HttpClient) => Promise<Found>,
): Promise<Found> {
  const { marketData } = settings;
  if (marketData === null) {
    throw new ConnectorError('SETTINGS_INVALID', 'marketData.url (MARKET_DATA_URL) is not set: set it.');
  }
  return withClient('marketData', marketData, clock, work);
}

async function withClient<Found>(
  name: 'referenceData' | 'marketData',
  settings: Settings['referenceData'],
  clock: Clock,
  work: (http: HttpClient) => Promise<Found>,
): Promise<Found> {
  const http = await createProviderHttp(name, settings, { clock, random: systemRandom, log: silentLog });
  try {
    return await work(http);
  } finally {
    await http.close();
  }
}

export function sessionReader(name: SchemaName): RecordReader {
  return createRecordReader({ schemas: new Map([[NO_SCHEMA_ID, readSchemaText(name)]]) });
}

export function unregistered(name: SchemaName): Registered {
  return { schema: readSchemaText(name), schemaId: NO_SCHEMA_ID };
}

function createSession(settings: Settings, http: HttpClient, clock: Clock, signal: AbortSignal): ProviderSession {
  const { shared, named } = planSources(settings);
  const context: SourceContext = {
    settings: { ...settings, mapping: { ...settings.mapping, maxDeadLetters: ALL_MAY_FAIL } },
    topics: { shared, named, maxMessageBytes: () => Number.POSITIVE_INFINITY },
    http,
    registry: NO_REGISTRY,
    clock,
    events: toAll([]),
  };
  const session: ProviderSession = {
    http,
    open(source, limit) {
      const limits = { ...('limit' in source && { limit }), ...('maxEvents' in source && { maxEvents: limit }) };
      return kindOf(source).open({ ...source, ...limits }, context);
    },
    instruments(source, limit) {
      const instrument = unregistered('Instrument');
      const decoders = instrumentDecoders(unregistered('InstrumentEvent'), instrument, {
        onMismatch: settings.mapping.onMismatch,
        maxValueBytes: Number.POSITIVE_INFINITY,
        clock,
      });
      const sized = source.type === 'instruments' ? { ...source, limit } : source;
      return instrumentRequests({ ...sized, maxEvents: limit }, context, async () => ({ decoders }));
    },
    async *pages(provider) {
      for (let minId: string | null = null; ; ) {
        const asked: string | null = minId;
        const page: InstrumentsPage = await session.patiently(() => provider.page(asked, signal));
        yield page;
        minId = page.next;
        if (minId === null) return;
        if (asked !== null && BigInt(minId) <= BigInt(asked)) {
          const text = `The page of the list after id ${asked} names id ${minId} as next; expected a greater id. Otherwise the list would never end.`;
          throw new ConnectorError('WALK_CURSOR_REPEATED', text);
        }
      }
    },
    patiently: (request) => retry(request, { ...ATTEMPTS, clock, random: systemRandom, signal }),
  };
  return session;
}

function isWorthWaiting(error: unknown): boolean {
  if (!(error instanceof ConnectorError) || (error.retryAfterMs ?? 0) > LONGEST_WAIT_MS) return false;
  return error.action === 'retry' || asksForLess(error);
}
