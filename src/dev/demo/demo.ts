import { randomBytes } from 'node:crypto';
import type { Writable } from 'node:stream';
import type { Settings } from '../../config/settings.ts';
import type { KafkaCluster } from '../../kafka/cluster.ts';
import type { CommittedRecord } from '../../kafka/record.ts';
import { OFFSETS_PARTITIONS } from '../../kafka/topic-plan.ts';
import { logEvents } from '../../observe/event-table.ts';
import type { EventItem, Events, WalkCompleted } from '../../observe/events.ts';
import { createLog } from '../../observe/pino-log.ts';
import { createRedaction } from '../../observe/redaction.ts';
import { createRecordReader, type ReadableRecord } from '../../records/avro/record-reader.ts';
import { readSchemaText } from '../../records/avro/schema-files.ts';
import { readWireValue } from '../../records/avro/wire-format.ts';
import { runConnector } from '../../run/connector.ts';
import { createKafkaCluster } from '../../run/kafka-client.ts';
import type { Random } from '../../support/back-off.ts';
import { type Clock, systemClock as clock, systemRandom } from '../../support/clock.ts';
import { columnsOf, folded } from '../../support/columns.ts';
import type { Log } from '../../support/log.ts';
import { startLocalStack } from '../local-stack/local-stack.ts';
import { createProgressLine, type ProgressLine } from '../local-stack/progress-line.ts';
import type { LocalStack } from '../local-stack/stack-context.ts';
import { createSimulator, type Simulator } from '../simulator/simulator.ts';
import {
  DEMO_PROVIDER,
  demoEnvironment,
  demoSettings,
  exportLines,
  NOT_STARTED,
  type ShellSettings,
  writeShellFile,
} from './demo-settings.ts';
import { shortened } from './display-width.ts';
import { createLiveBlock, type LiveBlock } from './live-block.ts';
import { createPriceBoard, firstPrices, type PriceBoard } from './price-board.ts';
import { createWalkProgress, type WalkProgress, walkEvents } from './walk-progress.ts';

const LONGEST_NAME = 60;
const BEFORE_THE_NAME = 30;

/** Events with a line in the demo. Data changes and adjustments of parameters have no line, because they are many. */
const SHOWN: Readonly<Record<string, string>> = {
  newissue: 'new issue',
  barriercross: 'barrier breach',
  repayment: 'repayment',
  couponpayment: 'coupon',
};

const SHOWN_FIELDS = 16;

/** The rate of changes after the walk: enough to see something, slow enough to read it. */
const CHANGES_PER_SECOND = 3;

/** The interval of the price table. A terminal shows the new table in place of the old table. */
const TABLE_INTERVAL_MS = { terminal: 1_000, elsewhere: 10_000 };

export interface DemoOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly signal: AbortSignal;
  /** True: the demo ends when the walk is complete and all instruments are priced. */
  readonly once: boolean;
  readonly instruments: number;
}

/**
 * Starts Kafka, a schema registry and a simulated provider, and runs the connector with them.
 * @returns true if the walk was completed.
 */
export async function runDemo(options: DemoOptions): Promise<boolean> {
  const { stdout, stderr, once, instruments } = options;
  const line = createProgressLine(stderr, () => clock.monotonicMs());
  const done = new AbortController();
  const signal = AbortSignal.any([options.signal, done.signal]);
  await using cleanUp = new AsyncDisposableStack();
  announceEnd(options.signal, line, cleanUp);
  const live = createLiveBlock(stdout);
  // On a terminal, prints above the lines that are rewritten in place.
  const say = (text: string, to: DemoOptions['stdout']) =>
    to.isTTY === true && live.isShown() ? live.print(text) : line.print(folded(text, columnsOf(to)), to);
  const print = (text = '') => say(text, stdout);
  const columns = () => columnsOf(stdout);
  const parts = await startParts(options, (text) => say(text, stderr), cleanUp);
  const progress = createWalkProgress(line, clock);
  const board = createPriceBoard(clock, parts.settings.prices.kinds.overview.refreshIntervalMs);
  const { connector, walked, statusPage } = startConnector({ ...parts, line, progress, board, print, columns, signal });
  const walk = await walked;
  line.end();
  if (walk !== null) {
    for (const { id } of parts.simulator.ledger.instruments()) {
      parts.simulator.triggerCheck(id);
      break;
    }
    await Promise.race([firstPrices(instruments, board, line, clock, signal), connector]);
    line.end();
    const shown = { ...parts, walk, progress, board, print, columns, clock, random: systemRandom, signal };
    const shell = { ...parts, statusPage: statusPage() };
    const shellFile = once ? null : await writeShellFile(shell, cleanUp);
    const names = await printSummary({ ...shown, ...shell, shellFile });
    if (once) done.abort(new Error('the walk is complete'));
    else {
      print('\nThe provider now changes its instruments, until Ctrl-C. Some kinds of events, as they are committed:');
      parts.simulator.setChangeRate(CHANGES_PER_SECOND);
      const where = stdout.isTTY && shellFile !== null ? placeLines(shell.statusPage, shellFile) : [];
      const lines = async () => {
        const wrong = await missingNow(shell.statusPage, signal);
        return ['', ...board.table(names, columns()), board.freshnessLine(), ...wrong, ...where];
      };
      const intervalMs = stdout.isTTY ? TABLE_INTERVAL_MS.terminal : TABLE_INTERVAL_MS.elsewhere;
      await Promise.race([showPrices(live, lines, intervalMs, signal), connector]);
    }
  }
  await connector;
  return walk !== null;
}

/**
 * Prints a line when the demo begins to stop, because closing all parts takes some seconds. Prints another line after
 * `cleanUp`. Must be called before anything else is added to `cleanUp`. Exported for tests.
 */
export function announceEnd(
  signal: AbortSignal,
  line: Pick<ProgressLine, 'print'>,
  cleanUp: AsyncDisposableStack,
): void {
  signal.addEventListener('abort', () => line.print('Stopping. This takes some seconds …'), { once: true });
  cleanUp.defer(() => {
    if (signal.aborted) line.print('Stopped.');
  });
}

/** The log without the lines for lost writers and a silent Kafka: the demo shows these below its table. Exported for tests. */
export function demoLog(log: Log): Events {
  return { ...logEvents(log), writerLost() {}, partitionWriterLost() {}, kafkaSilent() {} };
}

/** The reasons why the connector is not ready, one line each. Exported for tests. */
export async function missingNow(statusPage: string | null, signal: AbortSignal): Promise<string[]> {
  if (statusPage === null) return [];
  try {
    const response = await fetch(`${statusPage}/readyz`, { signal });
    const checks = (await response.text()).split('\n');
    return checks.flatMap((line) => (line.startsWith('[-] ') ? [`Not ready: ${line.slice(4)}`] : []));
  } catch {
    // The status page ends with the connector.
    return [];
  }
}

/** Lines that stay visible below the price table, while earlier output scrolls away. */
function placeLines(statusPage: string | null, shellFile: string): string[] {
  return [
    ...(statusPage === null ? [] : [`Status page ${statusPage}`]),
    `In another shell: . ${shellFile} && npx spconnect status`,
  ];
}

interface DemoParts {
  readonly stack: LocalStack;
  readonly simulator: Simulator;
  readonly environment: ShellSettings['environment'];
  readonly settings: Settings;
  readonly adminToken: string;
  readonly log: Log;
}

/** Starts Kafka, registry and provider, and makes the settings with their addresses. `cleanUp` ends each part. */
async function startParts(
  { env, stderr, signal, instruments }: DemoOptions,
  print: (text: string) => void,
  cleanUp: AsyncDisposableStack,
): Promise<DemoParts> {
  const adminToken = randomBytes(9).toString('base64url');
  const prefix = `demo-${clock.wallMs().toString(36)}`;
  // A wrong variable is reported before anything starts.
  await demoSettings({ ...env, ...demoEnvironment({ ...NOT_STARTED, env, prefix, adminToken }) }, () => {});
  // Each line stays visible: a line may say why Docker or Java cannot be used, or where a log is.
  const stack = await startLocalStack({ env, clock, signal, onProgress: print });
  cleanUp.defer(() => stack.stop());
  const simulator = await createSimulator({ ...DEMO_PROVIDER, instruments });
  cleanUp.defer(() => simulator.close());
  print(`Kafka at ${stack.brokers.join(',')}, schema registry at ${stack.registryUrl} (${stack.how})`);
  const redaction = createRedaction();
  const environment = demoEnvironment({ env, stack, simulator, prefix, adminToken });
  const settings = await demoSettings({ ...env, ...environment }, redaction.register);
  const log = createLog({
    level: 'warn',
    redaction,
    format: 'text',
    isColoured: stderr.isTTY === true,
    destination: { write: (text) => print(text.trimEnd()) },
  });
  return { stack, simulator, environment, settings, adminToken, log };
}

/**
 * Starts the connector. `walked`: the first complete walk; null if the connector ended earlier. `statusPage`: the
 * address of the status page; null before the page is ready.
 */
function startConnector({
  settings,
  log,
  line,
  progress,
  board,
  print,
  columns,
  signal,
}: Pick<DemoParts, 'settings' | 'log'> & {
  readonly line: ProgressLine;
  readonly progress: WalkProgress;
  readonly board: PriceBoard;
  readonly print: (text: string) => void;
  readonly columns: () => number;
  readonly signal: AbortSignal;
}) {
  const completed = Promise.withResolvers<WalkCompleted | null>();
  let statusPage: string | null = null;
  const connector = runConnector({
    settings,
    log,
    events: {
      ...demoLog(log),
      ...board.events,
      adminListening({ url }) {
        statusPage = url;
      },
      ...walkEvents({ line, progress, print }, completed.resolve),
      streamCommitted({ record, items, events = [] }) {
        for (const text of eventLines(events, columns())) print(text);
        if (record === 'check') {
          print(`  pre-trade check: ${items} triggered by a user, on the topic pre-trade-checks`);
        }
      },
    },
    signal,
  });
  connector.then(
    () => completed.resolve(null),
    (error: unknown) => completed.reject(error),
  );
  return { connector, walked: completed.promise, statusPage: () => statusPage };
}

async function showPrices(
  live: LiveBlock,
  lines: () => Promise<readonly string[]>,
  intervalMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const shown = await lines();
    if (!signal.aborted) live.show(shown);
    await clock.sleep(intervalMs, signal).catch(() => {});
  }
}

interface SummaryOptions {
  readonly settings: Settings;
  readonly walk: WalkCompleted;
  readonly progress: WalkProgress;
  readonly board: PriceBoard;
  readonly stack: LocalStack;
  readonly simulator: Simulator;
  readonly environment: ShellSettings['environment'];
  readonly statusPage: string | null;
  readonly adminToken: string;
  /** The file with the environment for another shell; null if the demo ends after the walk. */
  readonly shellFile: string | null;
  readonly print: (text?: string) => void;
  readonly columns: () => number;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

// Prints Kafka's content: topics with counts, one decoded record, some prices, and the addresses. @returns the names of
// the products of the price table, by instrument id.
async function printSummary(options: SummaryOptions): Promise<ReadonlyMap<string, string>> {
  const { settings, walk, progress, board, simulator, print, columns } = options;
  const kafka = await createKafkaCluster({ ...settings, prefix: `${settings.prefix}-summary` }, options);
  try {
    const { partitions, names } = settings.topics;
    const counts: readonly (readonly [name: string, partitions: number])[] = [
      [names.instruments, partitions],
      [names['instrument-events'], partitions],
      [names['pre-trade-checks'], partitions],
      [names.prices, partitions],
      [names.notifications, 1],
      [names['dead-letters'], 1],
      [names.offsets, OFFSETS_PARTITIONS],
    ];
    const found: TopicContent[] = [];
    const productNames = new Map<string, string>();
    const shown = new Set(board.knownIds());
    for (const [name, count] of counts) {
      const topic = `${settings.prefix}.${name}`;
      const content = await readTopic(kafka, topic, count, options.signal, (record) => {
        if (name !== names.instruments || !shown.has(String(record.key)) || record.value === null) return;
        productNames.set(String(record.key), String(decode(record.value).name));
      });
      found.push(content);
    }
    const [instruments] = found;
    if (instruments?.last?.value) {
      print(
        `\nOne record of ${instruments.name}, key ${String(instruments.last.key)}, decoded, with some of its fields:`,
      );
      print(indent(JSON.stringify(shorten(decode(instruments.last.value)), null, 2)));
    }
    print(`\nWalk ${walk.walk} is complete: ${progress.text()}.`);
    print(`The provider has ${simulator.size.toLocaleString('en')} instruments.\n`);
    print('Topics, with the number of committed records:');
    const width = Math.max(...found.map(({ name }) => name.length));
    for (const { name, count } of found) print(`  ${name.padEnd(width)} ${count.toLocaleString('en').padStart(9)}`);
    print('\nThe newest prices of some products:');
    for (const row of board.table(productNames, columns() - 2)) print(`  ${row}`);
    print(`\n${board.freshnessLine()}`);
    for (const line of options.shellFile === null ? END : addressLines(options, options.shellFile)) print(line);
    return productNames;
  } finally {
    await kafka.close();
  }
}

const END = [
  '\nThe demo ends here and stops all parts that it started. Without --once it continues, and prints the addresses of all parts.',
];

/** The addresses, and the use of spconnect in another shell. */
function addressLines(options: SummaryOptions, shellFile: string): string[] {
  const { stack, simulator, statusPage, adminToken } = options;
  const put = `  curl -X PUT -H 'Authorization: Bearer ${adminToken}' \\\n    ${statusPage}/connectors/prices`;
  return [
    '\nAddresses:',
    ...(statusPage === null ? [] : [`  Status page        ${statusPage}`]),
    `  Kafka              ${stack.brokers.join(',')}`,
    `  Schema registry    ${stack.registryUrl}`,
    `  Simulated provider ${simulator.referenceDataUrl}`,
    `  Its ledger         ${simulator.controlUrl}ledger/instruments`,
    '\nTo use spconnect in another shell, in this folder:',
    `  . ${shellFile}`,
    '  npx spconnect status',
    '  npx spconnect tail instrument-events',
    "  python3 -m pip install 'confluent-kafka[avro,schemaregistry]==2.16.0'",
    '  python3 test/foreign/python/read_prices.py \\',
    '    $KAFKA_BROKERS $SCHEMA_REGISTRY_URL $TOPIC_PREFIX.prices',
    'The file has these lines:',
    ...exportLines(options).map((line) => `  ${line}`),
    ...(statusPage === null
      ? []
      : [
          '\nTo pause and resume the prices over HTTP, with the admin token of this demo:',
          `${put}/pause`,
          `${put}/resume`,
        ]),
  ];
}

interface TopicContent {
  readonly name: string;
  readonly count: number;
  readonly last: CommittedRecord | undefined;
}

async function readTopic(
  kafka: KafkaCluster,
  name: string,
  partitions: number,
  signal: AbortSignal,
  onRecord: (record: CommittedRecord) => void,
): Promise<TopicContent> {
  let count = 0;
  let last: CommittedRecord | undefined;
  await kafka.logReader.readToEnd({
    topic: name,
    partitions: Array.from({ length: partitions }, (_, partition) => partition),
    onRecord: (record) => {
      count += 1;
      last = record;
      onRecord(record);
    },
    signal,
  });
  return { name, count, last };
}

function decode(value: Buffer): ReadableRecord {
  const { schemaId } = readWireValue(value);
  return createRecordReader({ schemas: new Map([[schemaId, readSchemaText('Instrument')]]) }).read(value);
}

/** Shortens a record, because a whole record has about 300 fields. */
function shorten(record: ReadableRecord): object {
  const simple = Object.entries(record).filter(([, value]) => value !== null && typeof value !== 'object');
  return Object.fromEntries(simple.slice(0, SHOWN_FIELDS));
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ');
}

function eventLines(events: readonly EventItem[], columns: number): string[] {
  return events.flatMap((item) => {
    const what = SHOWN[item.type ?? ''];
    return what === undefined
      ? []
      : [`  ${what.padEnd(14)} ${(item.isin ?? '(no isin)').padEnd(12)} ${nameOf(item, columns - BEFORE_THE_NAME)}`];
  });
}

function nameOf({ name, id }: EventItem, room: number): string {
  if (name === null) return `instrument ${id}`;
  return shortened(name, Math.min(LONGEST_NAME, room));
}
