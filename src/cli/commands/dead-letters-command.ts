import { isUtf8 } from 'node:buffer';
import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../../config/load.ts';
import type { ReferenceDataSettings } from '../../config/settings.ts';
import type { RetriedLetter } from '../../operator/dead-letters/dead-letter-plan.ts';
import type { DeadLetter } from '../../operator/dead-letters/dead-letters-operation.ts';
import type { Installation } from '../../operator/installation.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { wholeNumberOption } from '../numbers.ts';
import { jsonText, outputOption, printable, textTable } from '../output.ts';
import { EXIT_CODES } from '../terminal.ts';
import { pastTimeMs } from '../times.ts';
import { atTopics } from './at-topics.ts';

interface ListOptions extends DataOptions {
  readonly source?: string;
  readonly reason?: string;
  readonly since?: number;
  readonly limit: number;
}

const OUTCOMES: Readonly<Record<RetriedLetter['outcome'], string>> = {
  written: 'written',
  toWrite: 'to be written',
  superseded: 'superseded',
  impossible: 'impossible',
};

const RETRY_HELP =
  '\nAll of them are written in one transaction, each once. An instrument is written only if the topic has no newer\n' +
  'state of it; its source then restarts, to read it. An event comes after those that were written meanwhile. Of a\n' +
  'pre-trade check the topic has no input: the provider is asked for it by its id.\n' +
  '\nExample:\n  spconnect dead-letters retry 0\n';

interface OneOptions extends DataOptions {
  readonly execute: boolean;
}

/** `dead-letters`: what could not become a record, why, and another try. */
export function deadLettersCommand(program: Command, context: CommandContext): void {
  const group = program
    .command('dead-letters')
    .description('Show or retry inputs that could not become records.')
    .addHelpText('after', '\nExample:\n  spconnect dead-letters list --since 1d\n');
  const at: AtLetters = (config, needs, work) => atTopics(context, { config, needs, check: () => null, work });
  addList(group, context, at);
  addShow(group, context, at);
  // A pre-trade check alone needs the provider, and its credentials.
  const referenceData = async (file: string) => {
    const settings = await loadSettings({ file, env: context.env, onSecret: context.redaction.register });
    return settings.referenceData;
  };
  addRetry(group, context, at, referenceData);
}

type AtLetters = <Found>(
  config: string,
  needs: readonly ('dead-letters' | 'states')[],
  work: (at: Installation) => Promise<Found>,
) => Promise<Found>;

function addList(group: Command, { stdout, stderr }: CommandContext, at: AtLetters): void {
  group
    .command('list')
    .description('List the dead letters: id, time, source, key, place of the problem, reason.')
    .option('--source <source>', 'only those of this source')
    .option('--reason <text>', 'only those with this text in their reason')
    .option(
      '--since <time>',
      'only those since a time, like 2026-03-31T12:00:00Z, or of the last duration, like 6h',
      pastTimeMs,
    )
    .option('--limit <count>', 'the newest, at most this many', wholeNumberOption, 50)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText('after', '\nExample:\n  spconnect dead-letters list --source instruments --since 7d\n')
    .action(async ({ config, output, since, ...filter }: ListOptions) => {
      const { listDeadLetters } = await import('../../operator/dead-letters/dead-letters-operation.ts');
      const { letters, count } = await at(config, ['dead-letters'], (place) =>
        listDeadLetters(place, { ...filter, sinceMs: since }),
      );
      const rows = letters.length === 0 ? [] : [HEADER, ...letters.map(rowOf)];
      stdout.write(output === 'json' ? jsonText(letters.map(withoutValue)) : textTable(rows));
      if (count === 0) stderr.write('No dead letter matches.\n');
      else if (count > letters.length) {
        stderr.write(`The newest ${letters.length} of ${count}; --limit shows more.\n`);
      }
    });
}

function addShow(group: Command, { stdout }: CommandContext, at: AtLetters): void {
  group
    .command('show')
    .description('Print one dead letter: its headers and the input as it was received.')
    .argument('<id>', 'an id of dead-letters list')
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nA dead letter of a pre-trade check has no input, because a check allows trading.\n\nExample:\n  spconnect dead-letters show 0\n',
    )
    .action(async (id: string, { config, output }: OneOptions) => {
      const { deadLetters } = await import('../../operator/dead-letters/dead-letters-operation.ts');
      const [letter] = await at(config, ['dead-letters'], (place) => deadLetters(place, [id]));
      if (letter === undefined) return;
      stdout.write(
        output === 'json' ? jsonText({ ...withoutValue(letter), value: textOf(letter.value) }) : asText(letter),
      );
    });
}

function addRetry(
  group: Command,
  { stdout, stderr, exitWith }: CommandContext,
  at: AtLetters,
  referenceData: (config: string) => Promise<ReferenceDataSettings>,
): void {
  group
    .command('retry')
    .description('Decode dead letters again with the current schemas and settings, and write their records.')
    .argument('<id...>', 'ids of dead-letters list')
    .option('--execute', 'make the change; without this option, only show it', false)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText('after', RETRY_HELP)
    .action(async (ids: string[], { config, output, execute }: OneOptions) => {
      const { retryDeadLetters } = await import('../../operator/dead-letters/dead-letter-retry.ts');
      const retried = await at(config, ['dead-letters', 'states'], (place) =>
        retryDeadLetters(place, { ids, execute, referenceData: () => referenceData(config) }),
      );
      stdout.write(output === 'json' ? jsonText(retried) : textTable(retried.map(outcomeRow)));
      const isWritable = retried.some(({ outcome }) => outcome === 'toWrite');
      if (!execute) stderr.write(`Nothing was written${isWritable ? '; --execute does it' : ''}.\n`);
      else if (retried.some(({ outcome }) => outcome === 'impossible')) exitWith(EXIT_CODES.failed);
    });
}

const HEADER = ['id', 'written', 'source', 'key', 'place', 'reason'];

function rowOf({ id, timestampMs, source, key, pointer, reason }: DeadLetter): string[] {
  return [id, new Date(timestampMs).toISOString(), source, key ?? '', pointer || 'the whole', reason];
}

function outcomeRow({ id, outcome, topics, says }: RetriedLetter): string[] {
  return [id, OUTCOMES[outcome], [...new Set(topics), says].filter((part) => part !== '').join('; ')];
}

function withoutValue({ value, timestampMs, ...letter }: DeadLetter) {
  return { ...letter, timestamp: new Date(timestampMs).toISOString(), bytes: value?.length ?? null };
}

/** Bytes as text; those that are no UTF-8 as what their bytes are in Latin-1, each escaped when it is printed. */
function textOf(value: Buffer | null): string | null {
  return value === null ? null : value.toString(isUtf8(value) ? 'utf8' : 'latin1');
}

function asText({ headers, key, timestampMs, value }: DeadLetter): string {
  const facts = [['key', key ?? ''], ['written', new Date(timestampMs).toISOString()], ...Object.entries(headers)];
  return `${textTable(facts)}\n${value === null ? 'It has no input.' : printable(textOf(value) ?? '')}\n`;
}
