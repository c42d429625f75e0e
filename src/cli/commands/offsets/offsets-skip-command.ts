import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../../../config/load.ts';
import type { OffsetSkip, SkipTarget } from '../../../operator/offset-skip-operation.ts';
import type { CommandContext, DataOptions } from '../../command-context.ts';
import { withoutControls } from '../../describe-error.ts';
import { jsonText, outputOption } from '../../output.ts';
import { EXIT_CODES } from '../../terminal.ts';
import { knownSource } from '../known-source.ts';

interface SkipOptions extends DataOptions {
  readonly execute: boolean;
  readonly to?: string;
}

/** `offsets skip`: the stream goes on behind a position that can never be read. What is skipped goes to stdout. */
export function offsetsSkipCommand(offsets: Command, context: CommandContext): void {
  const { env, stdout, stderr, signal, exitWith, redaction } = context;
  const command = offsets
    .command('skip')
    .description('Skip a position of the stream whose response can never be read.')
    .argument('<source>', 'the name of a source that repeats an error of the response, as BODY_MALFORMED')
    .option('--to <offset>', 'an offset of the provider to go on from, or "newest"; default: behind what is unreadable')
    .option('--execute', 'make the change; without this option, only show it', false)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nThe position is asked for again first, one event at a time: where it can be read, nothing is skipped. Else the source\n' +
        'goes on behind the events that cannot be read, and no further: the unreadable responses name the next offset. Where\n' +
        'they do not, ask the provider for it and give it with --to. --to newest goes on where the stream starts now; all\n' +
        'until then is lost. A notification (stream-skipped) says what is lost, between which offsets. Walks follow and\n' +
        'correct the instruments. Stop the source first (spconnect stop), and resume it afterwards.\n\n' +
        'Example:\n  spconnect offsets skip instruments\n',
    )
    .action(async (name: string, { to: given, execute, output, config }: SkipOptions) => {
      const { skipPosition } = await import('../../../operator/offset-skip-operation.ts');
      const { atInstallation } = await import('../../../operator/installation.ts');
      const settings = await loadSettings({ file: config, env, onSecret: redaction.register });
      const source = knownSource(command, name, settings.sources);
      const to: SkipTarget = given === undefined ? 'behind' : given === 'newest' ? given : { since: given };
      const needs = ['offsets', 'states', 'notifications'] as const;
      const skip = await atInstallation({ settings, signal, needs }, (installation) =>
        skipPosition(installation, { source, to, execute }),
      );
      const { problem, from, positions } = skip;
      const data = { source: name, problem, from, to: skip.to, positions };
      stdout.write(output === 'json' ? jsonText(data) : withoutControls(`since: ${from} -> ${skip.to ?? from}\n`));
      stderr.write(withoutControls(saidOf(skip, name)));
      if (execute && !skip.change.done) exitWith(EXIT_CODES.failed);
    });
}

function saidOf(
  { problem, later, from, to, positions, change: { besides, before, isStopped, done } }: OffsetSkip,
  source: string,
): string {
  if (problem === null && later === null) {
    return 'Nothing was changed: the response at the committed offset can be read.\n';
  }
  if (problem === null) {
    return (
      `Nothing was changed: the next event can be read, and a later one cannot (${later}). The source asks for fewer events ` +
      `after each failure, and commits those before it. Let it run (spconnect resume ${source}) until its offset stays.\n`
    );
  }
  const others =
    besides.length === 0 ? '' : ` The other sources on partition ${before.partition} continue: ${besides.join(', ')}.`;
  const many = positions !== null && positions > 1 ? `, nor can the ${positions - 1} after it` : '';
  const what = `The response at ${from ?? 'the start'} cannot be read (${problem})${many}.`;
  const lost = `What comes after ${from ?? 'the start'}, up to and with ${to},`;
  if (done) {
    const next = `Source ${source} goes on behind ${to} when it is resumed (spconnect resume ${source}).`;
    return `${what} ${next} ${lost} is lost, and a notification says so.${others}\n`;
  }
  const first = isStopped ? '' : ` Stop the source first: spconnect stop ${source}.`;
  return `Nothing was changed; --execute goes on behind ${to}. ${lost} is then lost. ${what}${first}${others}\n`;
}
