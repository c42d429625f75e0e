import type { Settings, SourceSettings, SourceSettingsOf } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { BodyEdges } from '../provider/http/body-chunks.ts';
import type { HttpClient } from '../provider/http/client.ts';
import type { HttpResponse } from '../provider/http/http-response.ts';
import { nextEventOffset, probableNext } from '../provider/page-link.ts';
import { createPreTradeChecks, nextCheckOffset, type PreTradeChecks } from '../provider/pre-trade-checks.ts';
import { createReferenceData, type ReferenceData } from '../provider/reference-data.ts';
import { createRecordReader, type RecordReader } from '../records/avro/record-reader.ts';
import { readSchemaText, type SchemaName } from '../records/avro/schema-files.ts';
import { type CheckDecoder, createCheckDecoder, type DecodedCheck } from '../records/decoding/check-decoder.ts';
import { createEventDecoder } from '../records/decoding/event-decoder.ts';
import { createPageDecoder } from '../records/decoding/page-decoder.ts';
import { createProviderHttp } from '../run/provider-client.ts';
import { followPreTradeChecks } from '../sources/kinds/pre-trade-checks.ts';
import type { FollowedStream } from '../sources/tasks/followed-stream.ts';
import {
  createInstrumentsProvider,
  type InstrumentsPage,
  type InstrumentsProvider,
} from '../sources/tasks/instruments-provider.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { silentLog } from '../support/log.ts';
import { retry } from '../support/retry.ts';
import { systemRandom } from '../support/system-random.ts';

/** Stands in place of the id of a registered schema. */
const NO_SCHEMA_ID = 0;
const ALL_MAY_FAIL = 1;
const BACK_OFF = { initialMs: 500, maximumMs: 10_000 };
const MOST_ATTEMPTS = 6;
/** Where the provider asks for a longer wait, the error is shown instead. */
const LONGEST_WAIT_MS = 60_000;
const NOT_FOUND = 404;

/** The reference data as the sources read it, for one command: no registry is needed, and no row that fails ends it. */
export interface ProviderSession {
  readonly http: HttpClient;
  /** The instruments and events of a source, `limit` rows or events at a time. */
  instruments(
    source: SourceSettingsOf<'instruments' | 'events'>,
    limit: number,
  ): { readonly referenceData: ReferenceData; readonly provider: InstrumentsProvider };
  checks(): { readonly preTradeChecks: PreTradeChecks; readonly stream: FollowedStream<DecodedCheck> };
  /** The stream of any source, `limit` items at a time where the interface lets us choose. */
  stream(source: SourceSettings, limit: number): SessionStream;
  /** One check as a record, and its path; null for an unknown id. @throws BODY_MALFORMED, without a word of the check. */
  check(id: string, decoder?: CheckDecoder): Promise<{ readonly value: Buffer; readonly endpoint: string } | null>;
  /** Every page of the list; a page that fails in a way that may pass is requested again. */
  pages(provider: Pick<InstrumentsProvider, 'page'>): AsyncGenerator<InstrumentsPage>;
  /** Repeats a request a few times while its failure may pass. @throws ConnectorError of the last attempt. */
  patiently<Answer>(request: () => Promise<Answer>): Promise<Answer>;
}

export interface SessionStream extends FollowedStream<unknown> {
  /** The next offset that the first and last bytes of an unreadable response name; null where they name none. */
  nextOf(since: string | null, signal: AbortSignal): Promise<string | null>;
}

export function atProvider<Found>(
  at: { readonly settings: Settings; readonly signal: AbortSignal; readonly clock?: Clock },
  work: (session: ProviderSession) => Promise<Found>,
): Promise<Found> {
  const { settings, signal, clock = systemClock } = at;
  const opened = createProviderHttp('referenceData', settings.referenceData, {
    clock,
    random: systemRandom,
    log: silentLog,
  });
  return withClient(opened, (http) => work(createSession({ settings, http, clock, signal })));
}

/** The same for market data, whose client is used as it is. */
export function atMarketData<Found>(
  { settings, clock = systemClock }: { readonly settings: Settings; readonly clock?: Clock },
  work: (http: HttpClient) => Promise<Found>,
): Promise<Found> {
  const { marketData } = settings;
  if (marketData === null) {
    throw new ConnectorError('SETTINGS_INVALID', 'marketData.url is not set: set it, or MARKET_DATA_URL.');
  }
  return withClient(
    createProviderHttp('marketData', marketData, { clock, random: systemRandom, log: silentLog }),
    work,
  );
}

export function sessionReader(name: SchemaName): RecordReader {
  return createRecordReader({ schemas: new Map([[NO_SCHEMA_ID, readSchemaText(name)]]) });
}

/** The answer, or null when the provider does not know the id. A 404 of the token endpoint is another error. */
export async function nullWhenUnknown<Found>(asked: Promise<Found>): Promise<Found | null> {
  try {
    return await asked;
  } catch (error) {
    const isRefusal = error instanceof ConnectorError && error.code === 'PROVIDER_REFUSED';
    if (isRefusal && error.fields.status === NOT_FOUND) return null;
    throw error;
  }
}

async function withClient<Found>(
  opened: Promise<HttpClient>,
  work: (http: HttpClient) => Promise<Found>,
): Promise<Found> {
  const http = await opened;
  try {
    return await work(http);
  } finally {
    await http.close();
  }
}

function createSession({
  settings,
  http,
  clock,
  signal,
}: {
  readonly settings: Settings;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): ProviderSession {
  const baseUrl = settings.referenceData.url;
  const { onMismatch } = settings.mapping;
  const preTradeChecks = createPreTradeChecks({ http, baseUrl });
  const checkDecoder = (mismatch: typeof onMismatch) =>
    createCheckDecoder({
      schema: readSchemaText('PreTradeCheck'),
      schemaId: NO_SCHEMA_ID,
      onMismatch: mismatch,
      clock,
    });
  const session: ProviderSession = {
    http,
    instruments(source, limit) {
      const schema = readSchemaText('Instrument');
      const mapping = { onMismatch, clock };
      const decoders = {
        pages: createPageDecoder({ ...mapping, schema, schemaId: NO_SCHEMA_ID, listKey: 'instruments' }),
        events: createEventDecoder({
          ...mapping,
          eventSchema: readSchemaText('InstrumentEvent'),
          eventSchemaId: NO_SCHEMA_ID,
          instrumentSchema: schema,
          instrumentSchemaId: NO_SCHEMA_ID,
        }),
      };
      const referenceData = createReferenceData({ http, baseUrl, filter: source });
      const provider = createInstrumentsProvider({
        referenceData,
        decoders: async () => decoders,
        limit,
        maxEvents: limit,
        maxDeadLetters: ALL_MAY_FAIL,
        clock,
      });
      return { referenceData, provider };
    },
    checks() {
      const decoder = checkDecoder(onMismatch);
      const stream = followPreTradeChecks({
        preTradeChecks,
        decoder: async () => decoder,
        maxDeadLetters: ALL_MAY_FAIL,
        clock,
      });
      return { preTradeChecks, stream };
    },
    stream(source, limit) {
      const edgesOf = ({ arrived }: HttpResponse) => arrived();
      const next = async (edges: Promise<BodyEdges | null>, read: Parameters<typeof probableNext>[1]) => {
        const arrived = await edges;
        return arrived && probableNext(arrived, read);
      };
      if (source.type === 'pre-trade-checks') {
        const { preTradeChecks, stream } = session.checks();
        return {
          ...stream,
          nextOf: (since, asked) =>
            next(preTradeChecks.list(since, edgesOf, asked), (links) => nextCheckOffset(links, baseUrl)),
        };
      }
      const { referenceData, provider } = session.instruments(source, limit);
      return {
        ...provider,
        nextOf: (since, asked) =>
          next(referenceData.events({ since: since ?? '', maxEvents: 1 }, edgesOf, asked), (links) =>
            nextEventOffset(links, baseUrl),
          ),
      };
    },
    async check(id, decoder = checkDecoder('deadLetter')) {
      const check = await nullWhenUnknown(preTradeChecks.single(id, ({ body }) => decoder.decodeSingle(body), signal));
      if (check === null) return null;
      if (check.kind === 'failure') {
        const text = `The check cannot be mapped at ${check.pointer || '/'}: ${check.reason}.`;
        throw new ConnectorError('BODY_MALFORMED', text);
      }
      if (check.key === id) return { value: check.value, endpoint: `${preTradeChecks.endpoint}/id/{id}` };
      const text = 'The response of the provider holds another check than the requested one.';
      throw new ConnectorError('BODY_MALFORMED', text);
    },
    async *pages(provider) {
      for (let minId: string | null = null; ; ) {
        const asked: string | null = minId;
        const page: InstrumentsPage = await session.patiently(() => provider.page(asked, signal));
        yield page;
        minId = page.next;
        if (minId === null) return;
        if (asked !== null && BigInt(minId) <= BigInt(asked)) {
          const text = `The cursor of the list goes from ${asked} to ${minId}, expected a greater one: the list would never end.`;
          throw new ConnectorError('WALK_CURSOR_REPEATED', text);
        }
      }
    },
    patiently: (request) =>
      retry(request, {
        backOff: BACK_OFF,
        attempts: MOST_ATTEMPTS,
        mayRetry: isWorthWaiting,
        clock,
        random: systemRandom,
        signal,
      }),
  };
  return session;
}

function isWorthWaiting(error: unknown): boolean {
  if (!(error instanceof ConnectorError) || (error.retryAfterMs ?? 0) > LONGEST_WAIT_MS) return false;
  return error.action === 'retry' || error.action === 'askForLess';
}
