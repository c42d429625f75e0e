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

/** `offsets`: how far each source has come, and how to make one start again. Offsets go to stdout, messages to stderr. */
export function offsetsCommand(
  program: Command,
  terminal: Terminal,
  _exitWith: (code: number) => void,
  redaction: Redaction,
): void {
  const { env, stdout, stderr, signal } = terminal;
  const offsets = program
    .command('offsets')
    .description('List, set or reset the committed offsets of the sources.')
    .addHelpText('after', '\nExample:\n  spconnect offsets list\n');
  const load = (file: string): Promise<Settings> => loadSettings({ file, env, onSecret: redaction.register });
  const needs = ['offsets', 'states'] as const;

  offsets
    .command('list')
    .description('Show the committed offset of every source.')
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
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
    .option('--execute', 'make the change; without this option, only show it', false)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nStop the source first (spconnect stop), and resume it afterwards. The committed offset goes to stdout: keep ' +
        'it.\n\nExample:\n  spconnect offsets reset instruments\n',
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
    besides.length === 0 ? '' : ` The other sources on partition ${partition} continue: ${besides.join(', ')}.`;
  if (done) {
    return (
      `The offset of source ${source} was deleted. The source starts from the beginning when it is resumed ` +
      `(spconnect resume ${source}).${others}\n`
    );
  }
  if (execute) throw new Error(`The offset of source ${source} was not deleted.`);
  const first = isStopped ? '' : ` Stop the source first: spconnect stop ${source}.`;
  return (
    `Nothing was changed. With --execute, the offset of source ${source} is deleted. The source then starts from the beginning: ` +
    'with a complete walk, and with the stream as it is then. Events that it has not read yet are lost; records in the ' +
    `topics stay.${first}${others}\n`
  );
}
