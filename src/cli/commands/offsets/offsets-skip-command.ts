import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../../../config/load.ts';
import type { OffsetSkip } from '../../../operator/offset-skip-operation.ts';
import type { CommandContext, DataOptions } from '../../command-context.ts';
import { withoutControls } from '../../describe-error.ts';
import { jsonText, outputOption } from '../../output.ts';
import { EXIT_CODES } from '../../terminal.ts';
import { knownSource } from '../known-source.ts';

interface SkipOptions extends DataOptions {
  readonly execute: boolean;
  readonly to?: string | null;
}

/** `offsets skip`: the stream goes on behind a position that can never be read. What is skipped goes to stdout. */
export function offsetsSkipCommand(offsets: Command, context: CommandContext): void {
  const { env, stdout, stderr, signal, exitWith, redaction } = context;
  const command = offsets
    .command('skip')
    .description('Skip a position of the stream whose response can never be read.')
    .argument('<source>', 'the name of a source that repeats an error of the response, as BODY_MALFORMED')
    .option('--to <offset>', 'the offset of the provider to go on from; without it, where the stream starts now')
    .option('--execute', 'make the change; without this option, only show it', false)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nThe position is asked for again first: where it can be read, nothing is skipped. What lies between the two offsets\n' +
        'is lost; a notification (stream-skipped) says so. Ask the provider for the offset behind the faulty event, and give\n' +
        'it with --to, so that little is lost. Walks follow and correct the instruments. Stop the source first (spconnect\n' +
        'stop), and resume it afterwards.\n\nExample:\n  spconnect offsets skip instruments\n',
    )
    .action(async (name: string, { to = null, execute, output, config }: SkipOptions) => {
      const { skipPosition } = await import('../../../operator/offset-skip-operation.ts');
      const { atInstallation } = await import('../../../operator/installation.ts');
      const settings = await loadSettings({ file: config, env, onSecret: redaction.register });
      const source = knownSource(command, name, settings.sources);
      const needs = ['offsets', 'states', 'notifications'] as const;
      const skip = await atInstallation({ settings, signal, needs }, (installation) =>
        skipPosition(installation, { source, to, execute }),
      );
      const data = { source: name, problem: skip.problem, from: skip.from, to: skip.to };
      stdout.write(
        output === 'json' ? jsonText(data) : withoutControls(`since: ${skip.from} -> ${skip.to ?? skip.from}\n`),
      );
      stderr.write(withoutControls(saidOf(skip, name)));
      if (execute && !skip.change.done) exitWith(EXIT_CODES.failed);
    });
}

function saidOf(
  { problem, from, to, change: { besides, before, isStopped, done } }: OffsetSkip,
  source: string,
): string {
  if (problem === null) return 'Nothing was changed: the response at the committed offset can be read.\n';
  const others =
    besides.length === 0 ? '' : ` The other sources on partition ${before.partition} continue: ${besides.join(', ')}.`;
  const what = `The response at ${from ?? 'the start'} cannot be read (${problem}).`;
  if (done) {
    const next = `Source ${source} goes on behind ${to} when it is resumed (spconnect resume ${source}).`;
    return `${what} ${next} What lay between is lost, and a notification says so.${others}\n`;
  }
  const first = isStopped ? '' : ` Stop the source first: spconnect stop ${source}.`;
  return `Nothing was changed; --execute goes on behind ${to}, and what lies between is lost. ${what}${first}${others}\n`;
}
