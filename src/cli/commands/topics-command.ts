import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import type * as operations from '../../operator/topics-operation.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { withoutControls } from '../describe-error.ts';
import { jsonText, outputOption, textTable } from '../output.ts';
import { EXIT_CODES } from '../terminal.ts';
import { atTopics } from './at-topics.ts';

/** `topics`: every topic of the settings, created or compared with the brokers. */
export function topicsCommand(program: Command, context: CommandContext): void {
  const { stdout, stderr, exitWith } = context;
  const topics = program
    .command('topics')
    .description('Create or verify the topics of the settings.')
    .addHelpText('after', '\nExample:\n  spconnect topics verify\n');

  async function run({ config, output }: DataOptions, work: keyof typeof operations): Promise<void> {
    const { [work]: operate } = await import('../../operator/topics-operation.ts');
    const findings = await atTopics(context, { config, needs: [], check: () => null, work: operate });
    if (output === 'json') stdout.write(jsonText(findings));
    else stdout.write(textTable(findings.map(({ topic, state }) => [topic, state])));
    const wrong = findings.filter(({ state }) => state === 'wrong' || state === 'missing');
    stderr.write(
      withoutControls(findings.flatMap(({ problems }) => problems.map((problem) => `${problem}\n`)).join('')),
    );
    if (wrong.length > 0) exitWith(EXIT_CODES.failed);
  }

  topics
    .command('verify')
    .description('Compare the topics with what the connector needs, and say how to correct what differs.')
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText('after', '\nA harmless difference is not an error.\n\nExample:\n  spconnect topics verify\n')
    .action((options: DataOptions) => run(options, 'verifyTopics'));

  topics
    .command('create')
    .description('Create the missing topics; existing ones are compared and never changed.')
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText('after', '\nExample:\n  spconnect topics create --output json\n')
    .action((options: DataOptions) => run(options, 'createTopics'));
}
