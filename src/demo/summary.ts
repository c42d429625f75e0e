import type { Writable } from 'node:stream';
import { createRecordReader, type ReadableRecord } from '../avro/record-reader.ts';
import { readSchemaText } from '../avro/schema-files.ts';
import { readWireValue } from '../avro/wire-format.ts';
import type { Settings } from '../config/settings.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { CommittedRecord } from '../kafka/record.ts';
import { OFFSETS_PARTITIONS } from '../kafka/topic-plan.ts';
import type { LocalStack } from '../local-stack/stack-context.ts';
import type { WalkCompleted } from '../observability/connector-events.ts';
import { createKafkaCluster } from '../setup/kafka-client.ts';
import type { Simulator } from '../simulator/simulator.ts';
import type { Random } from '../support/back-off.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { PriceBoard } from './price-board.ts';
import { exportLines } from './shell-file.ts';
import type { WalkProgress } from './walk-progress.ts';

const LONGEST_TEXT = 60;
const SHOWN_ITEMS = 1;
const SHOWN_FIELDS = 16;
const DEEPEST = 2;

export interface SummaryOptions {
  readonly settings: Settings;
  readonly walk: WalkCompleted;
  readonly progress: WalkProgress;
  readonly board: PriceBoard;
  readonly stack: LocalStack;
  readonly simulator: Simulator;
  /** Null where there is no admin server. */
  readonly statusPage: string | null;
  readonly adminToken: string;
  /** The file that sets the environment of another shell; null where nothing stays up afterwards. */
  readonly shellFile: string | null;
  readonly stdout: Writable;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
}

/**
 * What is on Kafka now: topics with counts, one decoded record, some prices, and where to look. Read back, not remembered.
 *
 * @returns the names of the products that the table of prices may show, by instrument id.
 */
export async function printSummary(options: SummaryOptions): Promise<ReadonlyMap<string, string>> {
  const { settings, walk, progress, board, simulator, stdout } = options;
  const kafka = await createKafkaCluster({ ...settings, prefix: `${settings.prefix}-summary` }, options);
  const print = (text = '') => stdout.write(`${text}\n`);
  try {
    const { partitions, names } = settings.topics;
    const counts: readonly (readonly [name: string, partitions: number])[] = [
      [names.instruments, partitions],
      [names['instrument-events'], partitions],
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
      print(`\nOne record of ${instruments.name}, key ${String(instruments.last.key)}, decoded and shortened:`);
      print(indent(JSON.stringify(shorten(decode(instruments.last.value)), null, 2)));
    }
    print(`\nWalk ${walk.walk} is complete: ${progress.text()}.`);
    print(`The provider has ${simulator.size.toLocaleString('en')} instruments.\n`);
    print('Topics, with the number of committed records:');
    const width = Math.max(...found.map(({ name }) => name.length));
    for (const { name, count } of found) print(`  ${name.padEnd(width)} ${count.toLocaleString('en').padStart(9)}`);
    print('\nThe newest prices of some products:');
    for (const row of board.table(productNames)) print(`  ${row}`);
    print(`\n${board.freshnessLine()}`);
    for (const line of options.shellFile === null ? END : addressLines(options, options.shellFile)) print(line);
    return productNames;
  } finally {
    await kafka.close();
  }
}

/** What was started here ends now: its addresses would lead nowhere. */
const END = [
  '\nThe demo ends here, and with it what it has started. Without --once it goes on, and prints the addresses of all parts.',
];

/** Where to look, and how spconnect is used in another shell. */
function addressLines(options: SummaryOptions, shellFile: string): string[] {
  const { stack, simulator, statusPage, adminToken } = options;
  const pause = `curl -X PUT -H 'Authorization: Bearer ${adminToken}' ${statusPage}/connectors/prices`;
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
    'The file has these lines:',
    ...exportLines(options).map((line) => `  ${line}`),
    ...(statusPage === null
      ? []
      : [
          '\nTo pause and resume the prices over HTTP, with the admin token of this demo:',
          `  ${pause}/pause`,
          `  ${pause}/resume`,
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

/** A whole record has some 300 fields: absent ones are left out, lists, texts and depth are cut. */
function shorten(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}…` : value;
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEEPEST) return '…';
  if (Array.isArray(value)) {
    const more = value.length - SHOWN_ITEMS;
    const shown = value.slice(0, SHOWN_ITEMS).map((item) => shorten(item, depth + 1));
    return [...shown, ...(more > 0 ? [`… and ${more} more`] : [])];
  }
  const present = Object.entries(value).filter(([, field]) => field !== null);
  const shown = present.slice(0, SHOWN_FIELDS).map(([name, field]) => [name, shorten(field, depth + 1)]);
  const more = present.length - SHOWN_FIELDS;
  return Object.fromEntries([...shown, ...(more > 0 ? [['…', `and ${more} more`]] : [])]);
}

function indent(text: string): string {
  return text.replace(/^/gm, '  ');
}
