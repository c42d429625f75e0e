import { type Settings, type SourceSettings, topicOf } from '../config/settings.ts';
import { adviceBehind, ConnectorError } from '../errors.ts';
import type { HttpClient } from '../http/client.ts';
import { readWholeJson } from '../json/json-body.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import { offsetKey, offsetPartition, readAllOffsets } from '../kafka/offset-store.ts';
import { createMarketData } from '../provider/market-data.ts';
import { createKafkaCluster } from '../setup/kafka-client.ts';
import { createMarketDataHttp, createReferenceDataHttp } from '../setup/provider-client.ts';
import { createSubjects } from '../setup/registry-client.ts';
import { subjectsOf } from '../setup/subjects.ts';
import { systemClock } from '../support/clock.ts';
import { silentLog } from '../support/log.ts';
import { systemRandom } from '../support/system-random.ts';
import { tryTopics } from './topics-operation.ts';
import { unregisteredChecks, unregisteredInstruments } from './unregistered-provider.ts';
import { assertUsable } from './usable-offset.ts';

/** One thing that was tried. */
export interface ConnectionCheck {
  readonly what: string;
  /** `skipped`: something before it failed, so that it was not tried. */
  readonly state: 'ok' | 'failed' | 'skipped';
  /** What is wrong, or what was found. */
  readonly says: string;
  /** Empty when there is nothing to do. */
  readonly toDo: string;
}

interface CheckOptions {
  readonly settings: Settings;
  readonly signal: AbortSignal;
}

/** Its check digit is right, so that only a provider that sells it would know it. */
const UNKNOWN_ISIN = 'XS0000000009';

/** Tries everything that the settings name, and changes nothing there. Whatever fails is a check that failed. */
export async function checkConnections(options: CheckOptions): Promise<readonly ConnectionCheck[]> {
  return [
    ...(await checkProvider(options)),
    ...(await checkMarketData(options)),
    ...(await checkKafka(options)),
    ...(await checkRegistry(options)),
  ];
}

async function checkProvider({ settings, signal }: CheckOptions): Promise<readonly ConnectionCheck[]> {
  const { referenceData, sources } = settings;
  const http = await createReferenceDataHttp(referenceData, {
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
  });
  const token = 'credentials of referenceData';
  const checks: ConnectionCheck[] = [];
  try {
    for (const source of sources) {
      const what = `first page of source ${source.name}`;
      const check = await attempt(what, signal, () => firstPage(settings, http, source, signal));
      if (check.code === 'TOKEN_FAILED') {
        const skipped = sources.map(({ name }) => `first page of source ${name}`).map(notTried);
        return [{ ...check.check, what: token }, ...skipped];
      }
      checks.push(check.check);
    }
  } finally {
    await http.close();
  }
  const accepted = checks.some(({ state }) => state === 'ok');
  const says = accepted ? `accepted (${referenceData.auth.type})` : 'unknown, because no page was read';
  return [{ what: token, state: accepted ? 'ok' : 'skipped', says, toDo: '' }, ...checks];
}

/** What the first response to a source is; it is read as the source would read it, so that another service is noticed. */
async function firstPage(
  settings: Settings,
  http: HttpClient,
  source: SourceSettings,
  signal: AbortSignal,
): Promise<string> {
  if (source.type === 'pre-trade-checks') {
    await unregisteredChecks({ settings, http }).stream.start(signal);
    return 'a page of pre-trade checks';
  }
  const { provider } = unregisteredInstruments({ settings, http }, source, 1);
  await provider.page(null, signal);
  return 'a page of instruments';
}

/**
 * A request for market data must name a product; one that does not exist is enough. It is asked for in bulk, as the
 * price processor asks: a single request would get 404 for the unknown product, and for a wrong url as well.
 */
async function checkMarketData({
  settings: { marketData },
  signal,
}: CheckOptions): Promise<readonly ConnectionCheck[]> {
  if (marketData === null) return [];
  const items = [{ isin: UNKNOWN_ISIN, query: { kind: 'overview' as const, fields: [] } }];
  const http = await createMarketDataHttp(marketData, { clock: systemClock, random: systemRandom, log: silentLog });
  try {
    const { check } = await attempt('prices of marketData', signal, async () => {
      const answer = await createMarketData({ http }).bulk(items, ({ body }) => readWholeJson(body), signal);
      if (isBulkResponse(answer, items.length)) return 'it responds to a bulk request, for one test product';
      const what = 'The response to a bulk request is not one: expected a list of "items", one for each product.';
      throw new ConnectorError(
        'BODY_MALFORMED',
        `${what} Is marketData.url (MARKET_DATA_URL) that of another service?`,
      );
    });
    return [check];
  } finally {
    await http.close();
  }
}

/** The keys of a provider may be capitalised. */
function isBulkResponse(answer: unknown, count: number): boolean {
  const entries = answer instanceof Map ? [...answer] : [];
  return entries.some(([key, items]) => /^items$/i.test(key) && Array.isArray(items) && items.length === count);
}

async function checkKafka({ settings, signal }: CheckOptions): Promise<readonly ConnectionCheck[]> {
  const brokers = `brokers ${settings.kafka.brokers.join(', ')}`;
  const kafka = await createKafkaCluster(settings, { clock: systemClock, random: systemRandom, log: silentLog });
  try {
    const findings = await tryTopics({ settings, kafka, signal });
    const checks = findings.map(({ topic, state, problems, toDo }): ConnectionCheck => {
      const what = `topic ${topic}`;
      if (state === 'missing' && settings.topics.create)
        return { what, state: 'ok', says: 'will be created', toDo: '' };
      const isFine = state === 'ok' || state === 'differs';
      const says = problems.join(' ') || 'as expected';
      return { what, state: isFine ? 'ok' : 'failed', says, toDo: isFine ? '' : toDo };
    });
    const hasRun = findings.some(
      ({ topic, state }) => topic === topicOf(settings, settings.topics.names.offsets) && state !== 'missing',
    );
    const offsets = hasRun ? await checkOffsets(settings, kafka, signal) : [];
    return [{ what: brokers, state: 'ok', says: 'they respond', toDo: '' }, ...checks, ...offsets];
  } catch (error) {
    return [failure(brokers, error, signal).check, notTried('topics')];
  } finally {
    await kafka.close();
  }
}

/** Whether each source could go on from its committed offset: not after its filter was changed. */
function checkOffsets(
  settings: Settings,
  { logReader }: Pick<KafkaCluster, 'logReader'>,
  signal: AbortSignal,
): Promise<readonly ConnectionCheck[]> {
  const topic = topicOf(settings, settings.topics.names.offsets);
  return Promise.all(
    settings.sources.map(async (source) => {
      const { check } = await attempt(`offset of source ${source.name}`, signal, async () => {
        const key = offsetKey(source.name, source.type);
        const stored = await readAllOffsets(logReader, topic, [offsetPartition(key)], signal);
        const found = stored.find((one) => one.key === key);
        if (found === undefined) return 'none is committed: the source starts from the beginning';
        if (found.offset === null) throw found.error;
        assertUsable(source, found.offset);
        return 'the source continues from it';
      });
      return check;
    }),
  );
}

async function checkRegistry({ settings, signal }: CheckOptions): Promise<readonly ConnectionCheck[]> {
  const { schemaRegistry } = settings;
  const subjects = await createSubjects(schemaRegistry, systemClock);
  const checks: ConnectionCheck[] = [];
  let refused: ConnectionCheck | null = null;
  for (const { subject, schema } of subjectsOf(settings)) {
    const { check, code } = await attempt(`subject ${subject}`, signal, async () => {
      const versions = await subjects.versions(subject, schema, signal);
      const ours = versions.find(({ isOurs }) => isOurs);
      if (ours !== undefined) return `version ${ours.version}, id ${ours.id}`;
      if (!schemaRegistry.register) {
        throw new ConnectorError(
          'SCHEMA_NOT_REGISTERED',
          'Our schema is not registered, and schemaRegistry.register is false.',
        );
      }
      if (versions.length > 0 && !(await subjects.isCompatible(subject, schema, signal))) {
        throw new ConnectorError(
          'SCHEMA_INCOMPATIBLE',
          `Our schema is not compatible with the ${versions.length} registered versions.`,
        );
      }
      return 'will be registered';
    });
    // The other requests would fail too.
    if (code === 'REGISTRY_UNREACHABLE' || code === 'TOKEN_FAILED')
      return [{ ...check, what: 'schema registry' }, notTried('subjects')];
    if (code === 'REGISTRY_REFUSED') refused ??= check;
    checks.push(check);
  }
  // A server that refuses every request may be no registry.
  if (refused !== null && checks.every(({ toDo }) => toDo === refused.toDo)) {
    return [{ ...refused, what: 'schema registry' }, notTried('subjects')];
  }
  return [{ what: 'schema registry', state: 'ok', says: 'it responds', toDo: '' }, ...checks];
}

interface Attempt {
  readonly check: ConnectionCheck;
  readonly code: string | null;
}

async function attempt(what: string, signal: AbortSignal, work: () => Promise<string>): Promise<Attempt> {
  try {
    return { check: { what, state: 'ok', says: await work(), toDo: '' }, code: null };
  } catch (error) {
    return failure(what, error, signal);
  }
}

function failure(what: string, error: unknown, signal: AbortSignal): Attempt {
  signal.throwIfAborted();
  if (!(error instanceof ConnectorError)) throw error;
  const { code, message } = error;
  return { check: { what, state: 'failed', says: message, toDo: adviceBehind(error) }, code };
}

function notTried(what: string): ConnectionCheck {
  return { what, state: 'skipped', says: 'not tried', toDo: '' };
}
