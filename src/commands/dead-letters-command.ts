import { isUtf8 } from 'node:buffer';
import type { SourceSettings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { OutgoingRecord } from '../kafka/record.ts';
import { toAll } from '../observe/event-table.ts';
import { commitInTurn } from '../run/commit-in-turn.ts';
import { atInstallation, type Installation } from '../run/installation.ts';
import { planSources } from '../run/planned-topics.ts';
import { createRegistry } from '../run/registry-client.ts';
import { operatorId, statesPartitions, walkRecord } from '../run/state-operation.ts';
import { DEAD_LETTER_HEADER } from '../run/stream-places.ts';
import { kindOf } from '../sources/kinds/all.ts';
import { type RejectedInput, type RereadLetter, type SourceContext, UNMAPPED } from '../sources/kinds/kind.ts';
import { silentLog } from '../support/log.ts';
import { BACKFILL, PRICE_PROCESSOR } from '../worker/target.ts';
import { BACKFILL_REQUEST } from './backfill/backfill-plan.ts';
import { loadWholeSettings, loadWithoutProvider } from './command-settings.ts';
import { atProvider, type ProviderSession } from './provider-session.ts';
import { listTable, print, printable, textTable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';
import { walksText } from './walk-command.ts';

/** An input on the dead letters topic that could not become a record. */
interface DeadLetter extends RejectedInput {
  /** The Kafka offset of the dead letter, in decimal. The offset is unique, because the topic has one partition. */
  readonly id: string;
  /** The time by the broker's clock, in milliseconds since the epoch. */
  readonly timestampMs: number;
  readonly source: string;
  /** JSON pointer to the problem in the input. */
  readonly pointer: string;
  readonly reason: string;
}

interface ListOptions {
  readonly source?: string;
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly limit: number;
}

export async function deadLettersList(context: CommandContext, options: ListOptions): Promise<void> {
  const { source, since = 0, limit } = options;
  const letters: DeadLetter[] = [];
  const counts = new Map<string, number>();
  await atLetters(context, (at) => {
    const names = [...at.settings.sources.map(({ name }) => name), PRICE_PROCESSOR, BACKFILL];
    if (source !== undefined && !names.includes(source))
      context.stderr.write(`The settings enable no source with the name ${printable(source)}.\n`);
    return eachDeadLetter(at, (letter) => {
      if ((source !== undefined && letter.source !== source) || letter.timestampMs < since) return;
      counts.set(letter.source, (counts.get(letter.source) ?? 0) + 1);
      letters.push(letter);
      if (letters.length > limit) letters.shift();
    });
  });
  const rows = letters.map((letter) => [
    letter.id,
    new Date(letter.timestampMs).toISOString(),
    letter.source,
    letter.key ?? '',
    letter.topic,
    letter.pointer || 'the whole input',
    letter.reason,
  ]);
  const header = ['id', 'written', 'source', 'key', 'topic', 'place', 'reason'];
  print(context, letters.map(withoutValue), listTable(context.stdout, header, rows));
  const count = [...counts.values()].reduce((sum, one) => sum + one, 0);
  if (count === 0) context.stderr.write('No dead letter matches.\n');
  else if (count > letters.length) {
    const each = [...counts].map(([name, ofSource]) => `${name} ${ofSource}`).join(', ');
    const how = counts.size > 1 ? '--source or --limit' : '--limit';
    context.stderr.write(`The newest ${letters.length} of ${count} (${each}); ${how} shows others.\n`);
  }
}

export async function deadLettersShow(context: CommandContext, _options: object, id: string): Promise<void> {
  const [letter] = await atLetters(context, (at) => deadLetters(at, [id]));
  if (letter === undefined) return;
  const { headers, key, timestampMs, value } = letter;
  const facts = [['key', key ?? ''], ['written', new Date(timestampMs).toISOString()], ...Object.entries(headers)];
  const text = value === null ? null : value.toString(isUtf8(value) ? 'utf8' : 'latin1');
  const shown = `${textTable(facts)}\n${text === null ? 'This dead letter has no input.' : printable(text)}\n`;
  print(context, { ...withoutValue(letter), value: text }, shown);
}

function withoutValue({ value, timestampMs, ...letter }: DeadLetter) {
  return { ...letter, timestamp: new Date(timestampMs).toISOString(), bytes: value?.length ?? null };
}

async function atLetters<Found>(
  context: CommandContext,
  work: (at: Installation) => Promise<Found>,
  needs: readonly ('dead-letters' | 'states')[] = ['dead-letters'],
): Promise<Found> {
  const settings = await loadWithoutProvider(context);
  return atInstallation({ settings, signal: context.signal, needs }, work);
}

/** The dead letters with these ids, in the order of the ids. @throws ConnectorError DEAD_LETTER_UNKNOWN. */
async function deadLetters(at: Installation, ids: readonly string[]): Promise<readonly DeadLetter[]> {
  const found = new Map<string, DeadLetter>();
  await eachDeadLetter(at, (letter) => {
    if (ids.includes(letter.id)) found.set(letter.id, letter);
  });
  return ids.map((id) => {
    const letter = found.get(id);
    if (letter !== undefined) return letter;
    const text = `There is no dead letter ${JSON.stringify(id)} on ${at.topics['dead-letters'].name}.`;
    throw new ConnectorError('DEAD_LETTER_UNKNOWN', text);
  });
}

async function eachDeadLetter(
  { kafka, topics, signal }: Installation,
  take: (letter: DeadLetter) => void,
): Promise<void> {
  const { name: topic, partitions: count } = topics['dead-letters'];
  await kafka.logReader.readToEnd({
    topic,
    partitions: Array.from({ length: count }, (_, partition) => partition),
    onRecord({ offset, timestampMs, key, headers, value }) {
      take({
        id: String(offset),
        timestampMs,
        source: headers['__connect.errors.connector.name'] ?? '',
        topic: headers['__connect.errors.topic'] ?? '',
        key: key === null ? null : key.toString(),
        pointer: headers['spc-pointer'] ?? '',
        reason: headers['__connect.errors.exception.message'] ?? '',
        headers,
        value,
      });
    },
    signal,
  });
}

const PROVENANCE = ['spc-source', 'spc-walk', 'spc-since', 'spc-endpoint', 'spc-received'];
const UNMAPPED_ADVICE =
  'To write such inputs with null for each wrong value, set mapping.onMismatch: keepInExtras, and retry.';
const BY_WALK =
  'the walk writes the instrument; if the source wrote it for an event in the last 90 minutes, only a walk after this time does';
const BY_REFRESH = 'needs no retry: while its instrument is followed, its next refresh requests the price again';
const NO_PRICE =
  'its record on the instruments topic cannot be read, so no price is requested before a readable record replaces it';
const SUPERSEDED = 'the topic already has this record or a newer record';

interface Reread {
  readonly letter: DeadLetter;
  readonly now: RereadLetter;
}

const OUTCOME_WORDS: Readonly<Record<string, string>> = { toWrite: 'to be written', notNeeded: 'not needed' };

interface Retried {
  readonly id: string;
  /** Without --execute, `toWrite` replaces `written`. */
  readonly outcome: 'written' | 'toWrite' | 'walk' | 'superseded' | 'notNeeded' | 'impossible';
  readonly says: string;
  readonly records: readonly OutgoingRecord[];
  readonly walks: readonly string[];
}

export async function deadLettersRetry(
  context: CommandContext,
  { execute }: { readonly execute: boolean },
  given: readonly string[],
): Promise<void> {
  const ids = [...new Set(given)];
  const retried = await atLetters(context, (at) => retry(at, ids, execute, context), ['dead-letters', 'states']);
  const shown = retried.map(({ id, outcome, says, records }) => {
    return { id, outcome, topics: records.map(({ topic }) => topic), says };
  });
  const rows = shown.map(({ id, outcome, topics, says }) => [
    id,
    OUTCOME_WORDS[outcome] ?? outcome,
    [...topics, says].filter((part) => part !== '').join('; '),
  ]);
  print(context, shown, textTable(rows));
  const isChange = retried.some(({ records, walks }) => records.length + walks.length > 0);
  if (!execute) context.stderr.write(`Nothing was written${isChange ? '; --execute makes the change' : ''}.\n`);
  const walks = [...new Set(retried.flatMap((one) => one.walks))];
  if (execute && walks.length > 0) context.stderr.write(walksText(walks));
  if (!retried.some(({ outcome }) => outcome === 'impossible')) return;
  if (retried.some(({ says }) => says.includes(UNMAPPED))) context.stderr.write(`${UNMAPPED_ADVICE}\n`);
  context.exitWith(EXIT_CODES.failed);
}

/** Writes each event and each pre-trade check once, and requests walks for instruments. One transaction does both. */
async function retry(
  at: Installation,
  ids: readonly string[],
  execute: boolean,
  context: CommandContext,
): Promise<readonly Retried[]> {
  const { settings, clock, signal } = at;
  const letters = await deadLetters(at, ids);
  const rereadAll = async ({ http }: ProviderSession) => {
    const registry = await createRegistry(settings.schemaRegistry, { clock, log: silentLog });
    const all: Reread[] = [];
    for (const letter of letters) all.push({ letter, now: await reread(at, { registry, http }, letter) });
    return all;
  };
  // Only a dead letter of a pre-trade check needs the provider's credentials: it keeps no input, so the check is requested again.
  const own = letters.some((letter) => isRequested(at, letter)) ? await loadWholeSettings(context) : settings;
  const all = await atProvider({ settings: own, signal, clock }, rereadAll);
  if (!execute) return planRetry(at, all, 'toWrite');
  const records = all.flatMap(({ now }) => (now === null || typeof now === 'string' ? [] : [now]));
  const places = new Map(records.map(({ topic, partition }) => [`${topic}/${partition}`, { topic, partition }]));
  const done = await commitInTurn(at, operatorId(settings.prefix), {
    abortHanging: () => [...statesPartitions(at.topics), ...places.values()],
    async read(readSignal) {
      const reading = { ...at, signal: readSignal };
      const plan = await planRetry(reading, all, 'written');
      const names = [...new Set(plan.flatMap(({ walks }) => walks))];
      return { plan, walks: await Promise.all(names.map((name) => walkRecord(reading, name))) };
    },
    writes: ({ plan, walks }) => ({ records: [...plan.flatMap((one) => one.records), ...walks] }),
  });
  return done.plan;
}

function sourceOf({ settings }: Installation, letter: DeadLetter): SourceSettings | undefined {
  return settings.sources.find(({ name }) => name === letter.source);
}

function isRequested(at: Installation, letter: DeadLetter): boolean {
  const source = sourceOf(at, letter);
  return source !== undefined && kindOf(source).hidesInput;
}

async function planRetry(
  at: Installation,
  all: readonly Reread[],
  writing: 'written' | 'toWrite',
): Promise<readonly Retried[]> {
  const superseded = await supersededBy(at, all);
  return all.map(({ letter, now }): Retried => {
    const { id } = letter;
    const source = sourceOf(at, letter);
    if (letter.source === PRICE_PROCESSOR && letter.headers['spc-problem'] !== undefined)
      return { id, outcome: 'notNeeded', says: BY_REFRESH, records: [], walks: [] };
    if (typeof now === 'string') return { id, outcome: 'impossible', says: now, records: [], walks: [] };
    if (superseded.has(id)) return { id, outcome: 'superseded', says: SUPERSEDED, records: [], walks: [] };
    const walks = source !== undefined && kindOf(source).walks ? [source.name] : [];
    const says = walks.length > 0 ? BY_WALK : '';
    return now === null
      ? { id, outcome: 'walk', says, records: [], walks }
      : { id, outcome: writing, says, records: [now], walks };
  });
}

/** Returns the ids of dead letters whose topic already has the record, or a newer record of the item. */
async function supersededBy(at: Installation, all: readonly Reread[]): Promise<ReadonlySet<string>> {
  const superseded = new Set<string>();
  const partitions = new Map<string, Set<number>>();
  for (const { now } of all) {
    if (now === null || typeof now === 'string') continue;
    partitions.set(now.topic, (partitions.get(now.topic) ?? new Set()).add(now.partition));
  }
  const requested = all.map(({ letter }) => letter).filter((letter) => isRequested(at, letter));
  for (const [topic, of] of partitions) {
    await at.kafka.logReader.readToEnd({
      topic,
      partitions: [...of],
      toHighWatermark: true,
      onRecord({ key, timestampMs, headers: { [DEAD_LETTER_HEADER]: id } }) {
        for (const { letter } of all) {
          const isItem = requested.includes(letter) && letter.topic === topic && letter.key === String(key);
          // Ids begin again on a topic that is created again, so an earlier record has the id of another dead letter.
          if ((isItem || letter.id === id) && letter.timestampMs < timestampMs) superseded.add(letter.id);
        }
      },
      signal: at.signal,
    });
  }
  return superseded;
}

/** Decodes the input of a dead letter as its source does, with the current schemas and settings. */
async function reread(
  at: Installation,
  tools: Pick<SourceContext, 'registry' | 'http'>,
  letter: DeadLetter,
): Promise<RereadLetter> {
  const { settings, topics, kafka, clock, signal } = at;
  const source = sourceOf(at, letter);
  if (letter.source === PRICE_PROCESSOR) return NO_PRICE;
  if (letter.source === BACKFILL) {
    const request = letter.headers[BACKFILL_REQUEST] ?? 'daily|intraday --from … --to …';
    const again = 'If that command has run before, it says how to delete its progress';
    return `it belongs to a backfill: run \`spconnect backfill ${request} --isin <its ISIN>\`. ${again}`;
  }
  if (source === undefined) return `the settings enable no source ${JSON.stringify(letter.source)}`;
  const { named, written } = planSources({ ...settings, sources: [source] });
  if (!written.some(({ name }) => name === letter.topic)) {
    return 'the source no longer writes to the topic of this dead letter';
  }
  const { maxMessageBytes } = await kafka.ensureTopics(written, { create: false });
  const opened = kindOf(source).open(source, {
    ...tools,
    settings,
    topics: { shared: topics, named, maxMessageBytes: ({ name }) => maxMessageBytes.get(name) ?? 0 },
    clock,
    events: toAll([]),
  });
  const kept = Object.entries(letter.headers).filter(([name]) => PROVENANCE.includes(name));
  return opened.reread(letter, { ...Object.fromEntries(kept), [DEAD_LETTER_HEADER]: letter.id }, signal);
}
