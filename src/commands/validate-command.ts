import { type Settings, type SourceSettings, topicOf } from '../config/settings.ts';
import { ConnectorError, type ErrorCode } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import { offsetKey, offsetPartition, readAllOffsets } from '../kafka/offset-store.ts';
import { enabledKinds } from '../prices/enabled-kinds.ts';
import type { HttpResponse } from '../provider/http/http-response.ts';
import { createMarketData } from '../provider/market-data.ts';
import { readJson } from '../records/json/json-scanner.ts';
import { createKafkaCluster } from '../run/kafka-client.ts';
import { assertUsable } from '../run/offsets-operation.ts';
import { subjectsOf } from '../run/planned-topics.ts';
import { createSubjects } from '../run/registry-client.ts';
import { systemClock, systemRandom } from '../support/clock.ts';
import { silentLog } from '../support/log.ts';
import { loadWithWarnings, withOrigins } from './command-settings.ts';
import { atMarketData, atProvider } from './provider-session.ts';
import { listedSubject } from './schemas-command.ts';
import { commandAdvice } from './shell/describe-error.ts';
import { print, textTable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';
import { compareTopics } from './topics-command.ts';

/** `validate`: shows all problems of the settings at once. With --connect, also checks the services of the settings. */
export async function validateCommand(
  context: CommandContext,
  { connect }: { readonly connect: boolean },
): Promise<void> {
  const { config, stderr, signal, exitWith, redaction, output } = context;
  const loaded = await loadWithWarnings(context)
    .then(async (usable) => {
      await openClients(usable, signal);
      return usable;
    })
    .catch((error: unknown) => problemsOf(error, context));
  if (!('settings' in loaded)) {
    const { problems, warnings } = loaded;
    if (output === 'text') for (const warning of warnings) stderr.write(`warning: ${warning}\n`);
    print(context, { ok: false, problems, warnings }, textTable(problems.map((line) => [line])));
    stderr.write('config/connector.yaml lists every setting, config/README.md explains how to set them.\n');
    exitWith(EXIT_CODES.usage);
    return;
  }
  const { settings, warnings } = loaded;
  if (output === 'text') for (const warning of warnings) stderr.write(`warning: ${warning}\n`);
  if (!connect) {
    const sources = settings.sources.map(({ name }) => name).join(', ');
    const prices = enabledKinds(settings.prices)
      .map(({ kind }) => kind)
      .join(', ');
    const ok = `${config}: ok; sources: ${sources}; prices: ${prices || 'none'}`;
    return print(context, { ok: true, problems: [], warnings }, textTable([[ok]]));
  }
  const found = await checkConnections({ settings, signal });
  const ok = found.every(({ state }) => state === 'ok' || state === 'differs');
  const { redact } = redaction;
  const checks = found.map((check) => ({ ...check, says: redact(check.says), toDo: redact(check.toDo) }));
  const first = new Map<string, string>();
  const rows = checks.map(({ what, state, says, toDo }) => {
    const text = `${says} ${toDo}`;
    const earlier = first.get(text);
    if (earlier === undefined) first.set(text, what);
    return [state, what, earlier === undefined || text.length <= SHORT_TEXT ? text : `the same as ${earlier}`];
  });
  print(context, { ok, problems: [], warnings, checks }, textTable(rows));
  if (ok) return;
  stderr.write('Some checks failed. The lines above name each problem and its remedy.\n');
  exitWith(EXIT_CODES.failed);
}

/** Opens the clients that `run` opens, and sends nothing. @throws ConnectorError SETTINGS_INVALID as `run` does. */
async function openClients(
  { settings, warnings }: Awaited<ReturnType<typeof loadWithWarnings>>,
  signal: AbortSignal,
): Promise<void> {
  const clients = [
    () => atProvider({ settings, signal }, async () => {}),
    async () => settings.marketData && atMarketData({ settings }, async () => {}),
    () => createSubjects(settings.schemaRegistry, systemClock),
    async () => (await openKafka(settings)).close(),
  ];
  const problems = new Set<string>();
  for (const open of clients) {
    await open().catch((error: unknown) => {
      if (!(error instanceof ConnectorError) || error.code !== 'SETTINGS_INVALID') throw error;
      problems.add(error.message);
    });
  }
  const text = ['', ...problems].join('\n');
  if (problems.size > 0) throw new ConnectorError('SETTINGS_INVALID', text, { fields: { warnings } });
}

function openKafka(settings: Settings): Promise<KafkaCluster> {
  return createKafkaCluster(settings, { clock: systemClock, random: systemRandom, log: silentLog });
}

async function problemsOf(error: unknown, context: CommandContext) {
  const { redaction } = context;
  if (!(error instanceof ConnectorError) || error.code !== 'SETTINGS_INVALID') throw error;
  const [title = '', ...lines] = (await withOrigins(context, redaction.redact(error.message))).split('\n');
  const { warnings } = error.fields;
  return {
    problems: lines.length === 0 ? [title] : lines,
    warnings: [warnings ?? []].flat().map((warning) => redaction.redact(String(warning))),
  };
}

/** A longer text stands once, with the first check that has it. */
const SHORT_TEXT = 60;

interface ConnectionCheck {
  readonly what: string;
  /** `skipped`: not tried, because an earlier check failed. `differs`: the connector starts with a warning. */
  readonly state: 'ok' | 'failed' | 'skipped' | 'differs';
  readonly says: string;
  /** The operator's next step; empty if there is none. */
  readonly toDo: string;
  readonly code?: ErrorCode;
}

interface CheckOptions {
  readonly settings: Settings;
  readonly signal: AbortSignal;
}

/** An ISIN that has a correct check digit. Providers probably do not know this ISIN. */
const UNKNOWN_ISIN = 'XS0000000009';

/** Tries every service of the settings and changes nothing. Failures come first. Exported for tests. */
export async function checkConnections(options: CheckOptions): Promise<readonly ConnectionCheck[]> {
  const checks = [
    ...(await checkProvider(options)),
    ...(await checkMarketData(options)),
    ...(await checkKafka(options)),
    ...(await checkRegistry(options)),
  ];
  return (['failed', 'skipped', 'differs', 'ok'] as const).flatMap((now) =>
    checks.filter(({ state }) => state === now),
  );
}

function checkProvider({ settings, signal }: CheckOptions): Promise<readonly ConnectionCheck[]> {
  const { referenceData, sources } = settings;
  const token = 'credentials of referenceData';
  const name = (source: SourceSettings) => `first page of source ${source.name}`;
  return atProvider({ settings, signal }, async (session) => {
    const checks: ConnectionCheck[] = [];
    for (const source of sources) {
      const check = await attempt(name(source), signal, async () => {
        // Sends the first requests of the source, because the stream may need another right than the list.
        const { stream, preview } = session.open(source, 1);
        const { since, newest } = await stream.start(signal);
        const outcome = await stream.after(newest ?? since, signal);
        if (outcome.kind === 'refused') throw outcome.err;
        const isEmpty = source.type === 'instruments' && (await preview(null, 1, signal)).length === 0;
        const advice = 'If the provider should have some, correct the filter of the source, such as legalCountry.';
        return isEmpty
          ? `it can be read, but it has no instruments. ${advice}`
          : 'it can be read, and so can its stream';
      });
      if (check.code === 'TOKEN_FAILED') return [{ ...check, what: token }, ...sources.map(name).map(notTried)];
      checks.push(check);
    }
    const accepted = checks.some(({ state }) => state === 'ok');
    const says = accepted ? `accepted (${referenceData.auth.type})` : 'unknown, because no page was read';
    return [{ what: token, state: accepted ? 'ok' : 'skipped', says, toDo: '' }, ...checks];
  });
}

/**
 * Sends a bulk request for each series, because the login may lack the right to one of them. A request for one product
 * would get 404 for a wrong url and also for an unknown product.
 */
async function checkMarketData({ settings, signal }: CheckOptions): Promise<readonly ConnectionCheck[]> {
  if (settings.marketData === null) return [];
  const nowMs = systemClock.wallMs();
  const read = ({ body }: HttpResponse) => readJson(body, Number.POSITIVE_INFINITY);
  return atMarketData({ settings }, (http) => {
    const checks = enabledKinds(settings.prices).map(({ kind, query, windows }) =>
      attempt(`prices of marketData, ${kind}`, signal, async () => {
        const items = [{ isin: UNKNOWN_ISIN, query: query(windows?.range(nowMs, nowMs) ?? null) }];
        const answer = await createMarketData({ http }).bulk(items, read, signal);
        if (isBulkResponse(answer, items.length)) return 'it responds to a bulk request, for one test product';
        throw new ConnectorError(
          'BODY_MALFORMED',
          'The response to a bulk request has the wrong form: expected a list of "items", one for each product. ' +
            'Does marketData.url (MARKET_DATA_URL) name another service?',
        );
      }),
    );
    return Promise.all(checks);
  });
}

/** Reads the key `items` in lower and upper case, because a provider may capitalise the keys of its JSON. */
function isBulkResponse(answer: unknown, count: number): boolean {
  const entries = answer instanceof Map ? [...answer] : [];
  return entries.some(([key, items]) => /^items$/i.test(key) && Array.isArray(items) && items.length === count);
}

async function checkKafka({ settings, signal }: CheckOptions): Promise<readonly ConnectionCheck[]> {
  const brokers = `brokers ${settings.kafka.brokers.join(', ')}`;
  const { create } = settings.topics;
  const kafka = await openKafka(settings);
  try {
    const findings = await compareTopics({ settings, kafka, signal }, { create: false, tryCreation: create });
    const checks = findings.map(({ topic, state, problems, toDo }): ConnectionCheck => {
      const what = `topic ${topic}`;
      if (state === 'missing' && create) return okay(what, 'will be created');
      const says = problems.join(' ') || 'as expected';
      return { what, state: state === 'ok' || state === 'differs' ? state : 'failed', says, toDo };
    });
    const offsets = topicOf(settings, settings.topics.names.offsets);
    const hasRun = findings.some(({ topic, state }) => topic === offsets && ['ok', 'differs'].includes(state));
    const ofSources = hasRun ? await checkOffsets(settings, offsets, kafka, signal) : [];
    const ofBrokers = await Promise.all(settings.kafka.brokers.map((broker) => checkBroker(broker, settings, signal)));
    return [...ofBrokers, ...checks, ...ofSources];
  } catch (error) {
    return [failure(brokers, error, signal), notTried('topics')];
  } finally {
    await kafka.close();
  }
}

/** The default of group.min.session.timeout.ms. */
const USUAL_LEAST_SESSION_MS = 6_000;

/** Connects to this broker alone: a client of all brokers needs only one that responds. */
async function checkBroker(broker: string, settings: Settings, signal: AbortSignal): Promise<ConnectionCheck> {
  const kafka = await openKafka({ ...settings, kafka: { ...settings.kafka, brokers: [broker] } });
  const isShort = settings.kafka.sessionTimeoutMs < USUAL_LEAST_SESSION_MS;
  const says = isShort ? 'it responds; by default, brokers refuse a kafka.sessionTimeout below 6s' : 'it responds';
  const responds = () => kafka.clusterId().then(() => says);
  return attempt(`broker ${broker}`, signal, responds).finally(() => kafka.close());
}

/** Checks the committed offsets. After a change of its filter, a source cannot continue from its offset. */
function checkOffsets(
  settings: Settings,
  topic: string,
  { logReader }: Pick<KafkaCluster, 'logReader'>,
  signal: AbortSignal,
): Promise<readonly ConnectionCheck[]> {
  return Promise.all(
    settings.sources.map((source) =>
      attempt(`offset of source ${source.name}`, signal, async () => {
        const key = offsetKey(source.name, source.type);
        const stored = await readAllOffsets(logReader, topic, [offsetPartition(key)], signal);
        const found = stored.find((one) => one.key === key);
        if (found === undefined) return 'none is committed: the source starts as a new source';
        if (found.offset === null) throw found.error;
        assertUsable(source, found.offset);
        return 'committed with this filter; if the provider still accepts it, the source continues from it';
      }),
    ),
  );
}

async function checkRegistry({ settings, signal }: CheckOptions): Promise<readonly ConnectionCheck[]> {
  const { schemaRegistry } = settings;
  const subjects = await createSubjects(schemaRegistry, systemClock);
  const checks: ConnectionCheck[] = [];
  let refused: ConnectionCheck | null = null;
  for (const { subject, schema } of subjectsOf(settings)) {
    const check = await attempt(`subject ${subject}`, signal, async () => {
      const { state, versions } = await listedSubject(subjects, { subject, schema }, signal);
      const ours = versions.find(({ isOurs }) => isOurs);
      if (ours !== undefined) return `version ${ours.version}, id ${ours.id}`;
      if (state === 'incompatible') {
        const text = `Our schema is not compatible with the ${versions.length} registered versions.`;
        throw new ConnectorError('SCHEMA_INCOMPATIBLE', text);
      }
      if (!schemaRegistry.register) {
        const text = 'Our schema is not registered, and schemaRegistry.register is false.';
        throw new ConnectorError('SCHEMA_NOT_REGISTERED', text);
      }
      return 'will be registered';
    });
    if (check.code === 'REGISTRY_UNREACHABLE' || check.code === 'TOKEN_FAILED')
      return [{ ...check, what: 'schema registry' }, notTried('subjects')];
    if (check.code === 'REGISTRY_REFUSED') refused ??= check;
    checks.push(check);
  }
  // If a server refuses every request, it is perhaps not a registry.
  if (refused !== null && checks.every(({ toDo }) => toDo === refused.toDo)) {
    return [{ ...refused, what: 'schema registry' }, notTried('subjects')];
  }
  return [okay('schema registry', 'it responds'), ...checks];
}

async function attempt(what: string, signal: AbortSignal, work: () => Promise<string>): Promise<ConnectionCheck> {
  return work().then(
    (says) => okay(what, says),
    (error: unknown) => failure(what, error, signal),
  );
}

function okay(what: string, says: string): ConnectionCheck {
  return { what, state: 'ok', says, toDo: '' };
}

function failure(what: string, error: unknown, signal: AbortSignal): ConnectionCheck {
  signal.throwIfAborted();
  if (!(error instanceof ConnectorError)) throw error;
  return { what, state: 'failed', says: error.message, toDo: commandAdvice(error), code: error.code };
}

function notTried(what: string): ConnectionCheck {
  return { what, state: 'skipped', says: 'not tried', toDo: '' };
}
