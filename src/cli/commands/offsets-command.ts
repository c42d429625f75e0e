import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../../config/load.ts';
import type { Settings } from '../../config/settings.ts';
import type { Redaction } from '../../observability/redaction.ts';
import type { ListedOffset, OffsetChange } from '../../operator/offsets-operation.ts';
import { withoutControls } from '../describe-error.ts';
import { jsonText, type Output, outputOption } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { knownSource } from './known-source.ts';
import { offsetsSetCommand } from './offsets-set-command.ts';

/** `offsets`: how far each source has come, and how to make one start anew. Offsets go to stdout, talk to stderr. */
export function offsetsCommand(
  program: Command,
  terminal: Terminal,
  _exitWith: (code: number) => void,
  redaction: Redaction,
): void {
  const { env, stdout, stderr, signal } = terminal;
  const offsets = program
    .command('offsets')
    .description('Show, set or reset how far each source has come.')
    .addHelpText('after', '\nExample:\n  spconnect offsets list\n');
  const load = (file: string): Promise<Settings> => loadSettings({ file, env, onSecret: redaction.register });
  const needs = ['offsets', 'states'] as const;

  offsets
    .command('list')
    .description('Show the committed offset of every source.')
    .addOption(outputOption())
    .option('--config <file>', 'the settings', DEFAULT_SETTINGS_FILE)
    .addHelpText('after', '\nExample:\n  spconnect offsets list --output json\n')
    .action(async ({ output, config }: { output: Output; config: string }) => {
      const { listOffsets } = await import('../../operator/offsets-operation.ts');
      const { atInstallation } = await import('../../operator/installation.ts');
      const settings = await load(config);
      const found = await atInstallation({ settings, signal, needs }, listOffsets);
      stdout.write(output === 'json' ? jsonText(found) : found.map(asText).join('\n'));
    });

  const reset = offsets
    .command('reset')
    .description('Delete the committed offset of a source, so that it starts from the beginning.')
    .argument('<source>', 'the name of a source')
    .option('--execute', 'do it; without this, only tell what would be done', false)
    .addOption(outputOption())
    .option('--config <file>', 'the settings', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nThe source has to be stopped first, and runs again with resume. What is, or was, committed goes to stdout: ' +
        'keep it.\n\nExample:\n  spconnect offsets reset instruments\n',
    )
    .action(async (name: string, { execute, output, config }: { execute: boolean; output: Output; config: string }) => {
      const { resetOffset } = await import('../../operator/offsets-operation.ts');
      const { atInstallation } = await import('../../operator/installation.ts');
      const settings = await load(config);
      const source = knownSource(reset, name, settings.sources);
      const outcome = await atInstallation({ settings, signal, needs }, (installation) =>
        resetOffset(installation, { source, execute }),
      );
      const { before } = outcome;
      stdout.write(output === 'json' ? jsonText(before) : asText(before));
      stderr.write(resetText(outcome, execute));
    });

  offsetsSetCommand(offsets, { env, stdout, stderr, signal }, redaction);
}

function asText({ source, type, configured, partition, offset, problem }: ListedOffset): string {
  const notes = [type ?? 'the key of another program', `partition ${partition}`];
  if (!configured) notes.push('not in the settings');
  const lines =
    offset === null ? [problem ?? 'nothing is committed'] : Object.entries(offset).map(([key, v]) => `${key}: ${v}`);
  return withoutControls(`${source} (${notes.join(', ')})\n${lines.map((line) => `  ${line}\n`).join('')}`);
}

function resetText({ before, besides, isStopped, done }: OffsetChange, execute: boolean): string {
  const { source, partition, offset, problem } = before;
  if (offset === null && problem === null)
    return `Source ${source} has no committed offset: there is nothing to reset.\n`;
  const others =
    besides.length === 0 ? '' : ` The other sources on partition ${partition} go on: ${besides.join(', ')}.`;
  if (done) {
    return (
      `The offset of source ${source} was deleted: it starts from the beginning once it runs again ` +
      `(spconnect resume ${source}).${others}\n`
    );
  }
  if (execute) throw new Error(`The offset of source ${source} was not deleted.`);
  const first = isStopped ? '' : ` The source has to be stopped first: spconnect stop ${source}.`;
  return (
    `Nothing was changed. With --execute the offset of source ${source} is deleted: it then starts from the beginning, ` +
    'with the stream as it is then and a complete reading. Events that it had not read yet are lost; records in the ' +
    `topics stay.${first}${others}\n`
  );
}
