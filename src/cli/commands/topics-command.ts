import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import type { Redaction } from '../../observability/redaction.ts';
import type * as operations from '../../operator/topics-operation.ts';
import { withoutControls } from '../describe-error.ts';
import { jsonText, type Output, outputOption, textTable } from '../output.ts';
import { EXIT_CODES, type Terminal } from '../terminal.ts';
import { atTopics } from './at-topics.ts';

interface TopicsOptions {
  readonly config: string;
  readonly output: Output;
}

/** `topics`: every topic of the settings, created or compared with the brokers. */
export function topicsCommand(
  program: Command,
  terminal: Terminal,
  exitWith: (code: number) => void,
  redaction: Redaction,
): void {
  const { stdout, stderr } = terminal;
  const topics = program
    .command('topics')
    .description('Create or verify the topics of the settings.')
    .addHelpText('after', '\nExample:\n  spconnect topics verify\n');

  async function run({ config, output }: TopicsOptions, work: keyof typeof operations): Promise<void> {
    const { [work]: operate } = await import('../../operator/topics-operation.ts');
    const findings = await atTopics(terminal, redaction, { config, needs: [], check: () => null, work: operate });
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
    .action((options: TopicsOptions) => run(options, 'verifyTopics'));

  topics
    .command('create')
    .description('Create the missing topics; existing ones are compared and never changed.')
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText('after', '\nExample:\n  spconnect topics create --output json\n')
    .action((options: TopicsOptions) => run(options, 'createTopics'));
}
