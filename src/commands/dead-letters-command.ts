import { isUtf8 } from 'node:buffer';
import { SOURCE_WORDS } from '../config/groups/sources.ts';
import type { TopicRole } from '../config/groups/topics.ts';
import { type SourceSettings, topicOf } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import type { CommittedRecord, OutgoingRecord } from '../kafka/record.ts';
import { toAll } from '../observe/event-table.ts';
import { commitInTurn } from '../run/commit-in-turn.ts';
import { atInstallation, type Installation } from '../run/installation.ts';
import { planSources } from '../run/planned-topics.ts';
import { createRegistry } from '../run/registry-client.ts';
import { operatorId, readWanted, restartRecord, statesPartitions } from '../run/state-operation.ts';
import { kindOf } from '../sources/kinds/all.ts';
import { impossible, type RereadLetter, type SourceContext, UNMAPPED } from '../sources/kinds/kind.ts';
import { silentLog } from '../support/log.ts';
import { BACKFILL, PRICE_PROCESSOR } from '../worker/target.ts';
import { BACKFILL_REQUEST } from './backfill/backfill-plan.ts';
import { loadWholeSettings, loadWithoutProvider } from './command-settings.ts';
import {
  DEAD_LETTER_HEADER,
  type DeadLetter,
  HeldStates,
  planRetry,
  type Reread,
  type RetriedLetter,
} from './dead-letter-plan.ts';
import { atProvider, type ProviderSession } from './provider-session.ts';
import { print, printable, textTable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

interface ListOptions {
  readonly source?: string;
  /** Milliseconds since the epoch. */
  readonly since?: number;
  readonly limit: number;
}

/** `dead-letters list`: the newest that fit, oldest first. */
export async function deadLettersList(context: CommandContext, options: ListOptions): Promise<void> {
  const { source, since = 0, limit } = options;
  const letters: DeadLetter[] = [];
  const counts = new Map<string, number>();
  await atLetters(context, (at) =>
    eachDeadLetter(at, (letter) => {
      if ((source !== undefined && letter.source !== source) || letter.timestampMs < since) return;
      counts.set(letter.source, (counts.get(letter.source) ?? 0) + 1);
      letters.push(letter);
      if (letters.length > limit) letters.shift();
    }),
  );
  const rows = letters.map((letter) => [
    letter.id,
    new Date(letter.timestampMs).toISOString(),
    letter.source,
    letter.key ?? '',
    letter.pointer || 'the whole',
    letter.reason,
  ]);
  const table = rows.length === 0 ? [] : [['id', 'written', 'source', 'key', 'place', 'reason'], ...rows];
  print(context, letters.map(withoutValue), textTable(table));
  const count = [...counts.values()].reduce((sum, one) => sum + one, 0);
  if (count === 0) context.stderr.write('No dead letter matches.\n');
  else if (count > letters.length) {
    const each = [...counts].map(([name, ofSource]) => `${name} ${ofSource}`).join(', ');
    context.stderr.write(`The newest ${letters.length} of ${count} (${each}); --source or --limit shows others.\n`);
  }
}

/** `dead-letters show`: one of them, with headers and input. */
export async function deadLettersShow(context: CommandContext, _options: object, id: string): Promise<void> {
  const [letter] = await atLetters(context, (at) => deadLetters(at, [id]));
  if (letter === undefined) return;
  const { headers, key, timestampMs, value } = letter;
  const facts = [['key', key ?? ''], ['written', new Date(timestampMs).toISOString()], ...Object.entries(headers)];
  const text = value === null ? null : value.toString(isUtf8(value) ? 'utf8' : 'latin1');
  const shown = `${textTable(facts)}\n${text === null ? 'It has no input.' : printable(text)}\n`;
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

/** The dead letters of these ids, in their order. @throws ConnectorError DEAD_LETTER_UNKNOWN. */
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

const UNMAPPED_ADVICE =
  'To write what cannot be mapped, with null for a wrong value: set mapping.onMismatch: keepInExtras, and retry.';

/** `dead-letters retry`: decodes them again, and writes their records. */
export async function deadLettersRetry(
  context: CommandContext,
  { execute }: { readonly execute: boolean },
  ids: readonly string[],
): Promise<void> {
  const work = (at: Installation) => retry(at, [...new Set(ids)], execute, context);
  const retried = await atLetters(context, work, ['dead-letters', 'states']);
  const rows = retried.map(({ id, outcome, topics, says }) => [
    id,
    outcome === 'toWrite' ? 'to be written' : outcome,
    [...new Set(topics), says].filter((part) => part !== '').join('; '),
  ]);
  print(context, retried, textTable(rows));
  const isWritable = retried.some(({ outcome }) => outcome === 'toWrite');
  if (!execute) context.stderr.write(`Nothing was written${isWritable ? '; --execute does it' : ''}.\n`);
  if (!retried.some(({ outcome }) => outcome === 'impossible')) return;
  if (retried.some(({ says }) => says.includes(UNMAPPED))) context.stderr.write(`${UNMAPPED_ADVICE}\n`);
  context.exitWith(EXIT_CODES.failed);
}

/**
 * Writes the records in one transaction. An instrument is only written when neither the topic nor another letter has a
 * newer state of it; a connector that writes it at the same moment corrects it by its next walk. The same transaction
 * restarts the sources of these instruments, so that they read what was written here.
 */
async function retry(
  at: Installation,
  ids: readonly string[],
  execute: boolean,
  context: CommandContext,
): Promise<readonly RetriedLetter[]> {
  const { settings, clock, signal } = at;
  const letters = await deadLetters(at, ids);
  const reread = async ({ http }: ProviderSession) => {
    const registry = await createRegistry(settings.schemaRegistry, { clock, log: silentLog });
    const all: Reread[] = [];
    for (const letter of letters) all.push({ letter, now: await rereadLetter(at, { registry, http }, letter) });
    return all;
  };
  const sourceOf = (letter: DeadLetter) => settings.sources.find(({ name }) => name === letter.source);
  const isRequested = (source: SourceSettings | undefined) => source !== undefined && kindOf(source).hidesInput;
  // Only a letter whose item is requested again needs the provider's credentials.
  const own = letters.map(sourceOf).some(isRequested) ? await loadWholeSettings(context) : settings;
  const all = await atProvider({ settings: own, signal, clock }, reread);
  const records = all.flatMap(({ now }) => (now.kind === 'records' ? now.records : []));
  const stateTopics = new Map<string, string>();
  for (const { type, topics } of settings.sources) {
    for (const [role, name] of Object.entries(topics) as [TopicRole, string][]) {
      const isState = at.topics[role].settings['cleanup.policy']?.includes('compact');
      if (isState)
        stateTopics.set(topicOf(settings, name), role === 'instruments' ? 'instrument' : SOURCE_WORDS[type].item);
    }
  }
  const planned = async (readSignal: AbortSignal) => {
    const held = await heldOf({ ...at, signal: readSignal }, records);
    return planRetry(all, held, { stateTopics, nowMs: clock.wallMs() });
  };
  if (!execute) {
    const { outcomes } = await planned(signal);
    return outcomes.map((one) => (one.outcome === 'written' ? { ...one, outcome: 'toWrite' } : one));
  }
  const written = new Map(records.map(({ topic, partition }) => [`${topic}/${partition}`, { topic, partition }]));
  const done = await commitInTurn(at, operatorId(settings.prefix), {
    abortHanging: () => [...statesPartitions(at.topics), ...written.values()],
    async read(readSignal) {
      const plan = await planned(readSignal);
      return { ...plan, restarts: await restartsFor({ ...at, signal: readSignal }, plan.records) };
    },
    writes: (plan) => ({ records: [...plan.records, ...plan.restarts] }),
  });
  return done.outcomes;
}

async function restartsFor(at: Installation, records: readonly OutgoingRecord[]): Promise<readonly OutgoingRecord[]> {
  const written = new Set(records.map(({ topic }) => topic));
  const restarts: OutgoingRecord[] = [];
  for (const { name, topics } of at.settings.sources) {
    if (!('instruments' in topics) || !written.has(topicOf(at.settings, topics.instruments))) continue;
    restarts.push(restartRecord(at, name, await readWanted(at, name)));
  }
  return restarts;
}

async function heldOf({ kafka, signal }: Installation, records: readonly OutgoingRecord[]): Promise<HeldStates> {
  const held = new HeldStates(records);
  for (const [topic, ofTopic] of Map.groupBy(records, (record) => record.topic)) {
    const partitions = [...new Set(ofTopic.map(({ partition }) => partition))];
    const onRecord = (record: CommittedRecord) => held.add(record);
    await kafka.logReader.readToEnd({ topic, partitions, behindOpen: true, onRecord, signal });
  }
  return held;
}

const PROVENANCE = ['spc-source', 'spc-walk', 'spc-since', 'spc-endpoint', 'spc-received'];

/** Decodes the input of a dead letter as its source would, with the current schemas and settings. */
async function rereadLetter(
  { settings, topics, kafka, clock, signal }: Installation,
  tools: Pick<SourceContext, 'registry' | 'http'>,
  letter: DeadLetter,
): Promise<RereadLetter> {
  const source = settings.sources.find(({ name }) => name === letter.source);
  if (letter.source === PRICE_PROCESSOR) return impossible('it belongs to a price, which is requested again anyway');
  if (letter.source === BACKFILL) {
    const request = letter.headers[BACKFILL_REQUEST] ?? 'daily|intraday --from … --to …';
    return impossible(`it belongs to a backfill: run \`spconnect backfill ${request} --isin <its ISIN>\``);
  }
  if (source === undefined) return impossible(`the settings have no source ${JSON.stringify(letter.source)}`);
  const { named, written } = planSources({ ...settings, sources: [source] });
  if (!written.some(({ name }) => name === letter.topic)) {
    return impossible('its topic is not one that its source writes');
  }
  const { maxMessageBytes } = await kafka.ensureTopics(written, { create: false });
  const opened = kindOf(source).open(source, {
    ...tools,
    settings,
    topics: { shared: topics, named, maxMessageBytes: ({ name }) => maxMessageBytes.get(name) ?? 0 },
    clock,
    events: toAll([]),
  });
  return opened.reread(letter, headersOf(letter), signal);
}

function headersOf({ id, headers }: DeadLetter): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => PROVENANCE.includes(name));
  return { ...Object.fromEntries(kept), [DEAD_LETTER_HEADER]: id };
}
