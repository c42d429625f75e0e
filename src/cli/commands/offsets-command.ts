import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import type { Settings } from '../../config/settings.ts';
import type { OffsetChange } from '../../operator/offsets-operation.ts';
import { systemClock } from '../../support/clock.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { jsonText, outputOption, textTable } from '../output.ts';
import { atTopics } from './at-topics.ts';
import { knownSource } from './known-source.ts';
import { offsetsSkipCommand } from './offsets/offsets-skip-command.ts';
import { offsetsSetCommand } from './offsets-set-command.ts';

/** `offsets`: how far each source has come, and how to make one start again. Offsets go to stdout, messages to stderr. */
export function offsetsCommand(program: Command, context: CommandContext): void {
  const { stdout, stderr } = context;
  const offsets = program
    .command('offsets')
    .description('List, set, skip or reset the committed offsets of the sources.')
    .addHelpText('after', '\nExample:\n  spconnect offsets list\n');
  const needs = ['offsets', 'states'] as const;

  offsets
    .command('list')
    .description('Show the committed offset of every source: its place in the stream, and its walks.')
    .option('--verbose', 'show all members of each offset', false)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText('after', '\nExample:\n  spconnect offsets list --output json\n')
    .action(async ({ output, config, verbose }: DataOptions & { verbose: boolean }) => {
      const { listOffsets } = await import('../../operator/offsets-operation.ts');
      const { offsetMembers, offsetTable } = await import('../offset-table.ts');
      const check = (settings: Settings) => settings;
      const { found, settings } = await atTopics(context, {
        config,
        needs,
        check,
        work: async (at) => ({ found: await listOffsets(at), settings: at.settings }),
      });
      if (output === 'json') stdout.write(jsonText(found));
      else stdout.write(verbose ? offsetMembers(found) : textTable(offsetTable(found, settings, systemClock.wallMs())));
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
    .action(async (name: string, { execute, output, config }: DataOptions & { execute: boolean }) => {
      const { resetOffset } = await import('../../operator/offsets-operation.ts');
      const { membersOf } = await import('../offset-table.ts');
      const outcome = await atTopics(context, {
        config,
        needs,
        check: ({ sources }) => knownSource(reset, name, sources),
        work: (at, source) => resetOffset(at, { source, execute }),
      });
      const { before } = outcome;
      stdout.write(output === 'json' ? jsonText(before) : membersOf(before));
      stderr.write(resetText(outcome, execute));
    });

  offsetsSetCommand(offsets, context);
  offsetsSkipCommand(offsets, context);
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
