// The tables of the READMEs, made from the code. `node test/support/documents/readme-tables.ts --write` puts them into the files;
// test/unit/readme.test.ts fails when they are stale.

import { readFileSync, writeFileSync } from 'node:fs';
import { settingsJsonSchema } from '../../../config/json-schema.ts';
import { EXIT_CODES } from '../../../src/commands/shell/terminal.ts';
import type { TopicRole } from '../../../src/config/groups/topics.ts';
import { ERROR_CODES, type ErrorAction } from '../../../src/errors.ts';
import { topicPlan } from '../../../src/kafka/topic-plan.ts';
import { documentedCommands } from './readme-commands.ts';

const EXIT_CODE_MEANINGS: Readonly<Record<keyof typeof EXIT_CODES, string>> = {
  ok: 'Done. These commands are done when they are stopped: run, tail, demo, simulate and status --watch.',
  failed:
    'The command failed or found a problem. The last lines on stderr name the problem and the remedy. For status: the connector is not ready; stdout has the reasons.',
  usage: 'The arguments or the settings are wrong; nothing was started.',
  interrupted:
    'SIGINT or SIGTERM ended the command before it was done: its result is not known. After Ctrl-C, npx always ends with this code.',
};

export const README_FILE = new URL('../../../README.md', import.meta.url);
export const CONFIG_README_FILE = new URL('../../../config/README.md', import.meta.url);
export const COMMANDS_README_FILE = new URL('../../../src/commands/README.md', import.meta.url);
export const TOPICS_README_FILE = new URL('../../../schemas/README.md', import.meta.url);
const SOURCE_WORKER_FILE = new URL('../../../src/sources/source-worker.ts', import.meta.url);

const ACTIONS: Readonly<Record<ErrorAction, string>> = {
  retry: 'tries again after a back-off',
  retrySlowly: 'tries again after longer pauses (`spconnect restart <source>` usually tries at once)',
  askForLess: 'repeats the request for fewer items',
  reopenWriter: 'opens a new writer and continues from the committed position',
  stopSource: 'stops the source; the other sources continue',
  exit: 'ends with exit code 1',
};

/** Where the action of a code does not say all. */
const WRONG_TOPIC =
  'ends with exit code 1 if all need the topic; otherwise it stops the sources or the prices that need it';
const OTHERWISE: Readonly<Partial<Record<string, string>>> = {
  SETTINGS_INVALID: 'does not start, and ends with exit code 2',
  TOPIC_MISSING: WRONG_TOPIC,
  TOPIC_NOT_CREATED: WRONG_TOPIC,
  TOPIC_MISMATCH: WRONG_TOPIC,
};

const CONTENTS: Readonly<Record<TopicRole, { readonly key: string; readonly value: string }>> = {
  instruments: { key: 'instrument id', value: 'Avro `Instrument`' },
  'instrument-events': { key: 'instrument id', value: 'Avro `InstrumentEvent`' },
  'pre-trade-checks': { key: 'id of the check', value: 'Avro `PreTradeCheck`' },
  prices: { key: 'instrument id', value: 'Avro `PriceSnapshot`' },
  'daily-prices': { key: '`<id>/<fields>/<date>`', value: 'Avro `DailyPrice`' },
  'intraday-prices': { key: '`<id>/<interval>/<fields>/<window open>`', value: 'Avro `IntradayPrice`' },
  notifications: { key: 'name of the source', value: 'Avro `Notification`' },
  'dead-letters': { key: "the input's key, or none", value: "the input's bytes, cut at 256 KiB; why: in the headers" },
  offsets: { key: '`["<source>",{"endpoint":"<type>"}]`', value: "JSON, as in Kafka Connect's offsets topic" },
  states: { key: 'name of the source', value: 'JSON' },
};

const commands = await documentedCommands();

type Tables = Readonly<Record<string, () => string>>;

export interface TabledDocument {
  readonly file: URL;
  /** By the names in the document's markers, as Markdown. */
  readonly tables: Tables;
}

/** The documents that hold tables, each with its own. */
export const TABLED_DOCUMENTS: readonly TabledDocument[] = [
  { file: README_FILE, tables: { 'run-source': runSourceBlock } },
  {
    file: COMMANDS_README_FILE,
    tables: {
      commands: commandsTable,
      'exit-codes': exitCodesTable,
      'error-codes': errorCodesTable,
    },
  },
  { file: TOPICS_README_FILE, tables: { topics: topicsTable } },
];

const MARKED = /(<!-- table: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g;

/**
 * The text of a document with the table of each marker made from the code: `<!-- table: name -->` … `<!-- end -->`.
 *
 * @throws Error when a marker names no table of this document, or a table has not exactly one place.
 */
export function withTables(tables: Tables, text: string): string {
  const placed: string[] = [];
  const written = text.replace(MARKED, (_whole, start: string, name: string, end: string) => {
    const made = tables[name];
    if (made === undefined) throw new Error(`The document asks for a table "${name}", which is not one of its tables.`);
    placed.push(name);
    return `${start}\n${made()}\n\n${end}`;
  });
  const wrong = Object.keys(tables).filter((name) => placed.filter((other) => other === name).length !== 1);
  if (wrong.length > 0) throw new Error(`The document has not exactly one place for: ${wrong.join(', ')}.`);
  return written;
}

/** The loop of every source, printed as it stands in its file. */
function runSourceBlock(): string {
  const source = readFileSync(SOURCE_WORKER_FILE, 'utf8');
  const [loop] = /^export async function runSource\([\s\S]*?^}$/m.exec(source) ?? [];
  if (loop === undefined) throw new Error(`${SOURCE_WORKER_FILE} has no function runSource.`);
  return ['```ts', loop, '```'].join('\n');
}

/** One table for each reaction, in the order in which the codes have them. */
function errorCodesTable(): string {
  const codes = Object.entries(ERROR_CODES).map(([name, { action, remedy }]) => ({
    reaction: OTHERWISE[name] ?? ACTIONS[action],
    row: [code(name), remedy],
  }));
  const groups = Map.groupBy(codes, ({ reaction }) => reaction);
  return [...groups]
    .map(
      ([reaction, rows]) =>
        `**It ${reaction}:**\n\n${table(
          ['code', 'what you can do'],
          rows.map(({ row }) => row),
        )}`,
    )
    .join('\n\n');
}

/** The topics that the settings can name are those that are in use. */
function topicsTable(): string {
  const plan = topicPlan({ prefix: '<prefix>', names: {}, partitions: 6, replicationFactor: 1 });
  const rows = topicRoles().map((role) => {
    const { name, partitions, settings } = plan[role];
    const { 'cleanup.policy': cleanup = '', 'message.timestamp.type': timestamps, ...others } = settings;
    if (timestamps !== 'LogAppendTime') throw new Error(`The README says of all topics what is not so of ${name}.`);
    const shown = Object.entries(others).map(([key, value]) => `${code(key)} ${readable(key, value)}`);
    const { key, value } = CONTENTS[role];
    return [code(name), key, value, cleanup, String(partitions), shown.join('<br>')];
  });
  return table(['topic', 'key', 'value', 'cleanup', 'partitions', 'settings'], rows);
}

function topicRoles(): TopicRole[] {
  const { properties } = settingsJsonSchema() as { properties: { topics: { properties: { names: object } } } };
  const names = properties.topics.properties.names as { properties: object };
  return (Object.keys(CONTENTS) as TopicRole[]).filter((role) => role in names.properties);
}

function commandsTable(): string {
  const rows = commands.map(({ usage, description }) => [code(usage), description]);
  return table(['command', 'what it does'], rows);
}

function exitCodesTable(): string {
  const names = Object.keys(EXIT_CODES) as (keyof typeof EXIT_CODES)[];
  return table(
    ['exit code', ''],
    names.map((name) => [String(EXIT_CODES[name]), EXIT_CODE_MEANINGS[name]]),
  );
}

const UNITS: readonly [suffix: string, units: readonly [size: number, name: string][]][] = [
  [
    '.ms',
    [
      [86_400_000, 'd'],
      [3_600_000, 'h'],
    ],
  ],
  ['bytes', [[1_048_576, 'MiB']]],
];

/** `604800000` is `7 d` where the setting's name says the unit. */
function readable(setting: string, value: string): string {
  const units = UNITS.find(([suffix]) => setting.endsWith(suffix))?.[1] ?? [];
  const unit = units.find(([size]) => Number(value) % size === 0);
  return unit ? `${Number(value) / unit[0]} ${unit[1]}` : value;
}

function code(text: string): string {
  return text === '' ? 'none' : `\`${text}\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

if (import.meta.main) {
  for (const { file, tables } of TABLED_DOCUMENTS) {
    const written = withTables(tables, readFileSync(file, 'utf8'));
    if (process.argv.includes('--write')) writeFileSync(file, written);
    else process.stdout.write(written);
  }
}
