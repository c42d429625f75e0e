import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import type { ReadableTopicRecord } from '../../operator/readable-values.ts';
import { untilAborted } from '../../support/until-aborted.ts';
import type { CommandContext } from '../command-context.ts';
import { wholeNumberOption } from '../numbers.ts';
import { jsonLine, type Output, outputOption, writeAll } from '../output.ts';
import { recordText } from '../record-text.ts';
import { atTopics } from './at-topics.ts';
import { withoutUrlIn } from './check-text.ts';

interface TailOptions {
  readonly config: string;
  readonly fromBeginning: boolean;
  readonly untilEnd: boolean;
  readonly key?: string;
  readonly limit?: number;
  readonly showUrl: boolean;
  readonly output: Output;
}

/** `tail`: what is committed to one of our topics, decoded. */
export function tailCommand(program: Command, context: CommandContext): void {
  const { stdout, stderr, signal } = context;
  program
    .command('tail')
    .description('Print the records of a topic, decoded, each as it is committed.')
    .argument('<topic>', 'a topic of the settings, with or without the prefix, like instruments')
    .option('--from-beginning', 'also print the existing records', false)
    .option('--until-end', 'print the existing records, then end', false)
    .option('--key <key>', 'only records with this key')
    .option('--limit <count>', 'end after this many records', wholeNumberOption)
    .option('--show-url', 'print the simulation URLs of pre-trade checks, which let their holder trade', false)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nDecimals and 64-bit integers are printed exactly. Records that were compacted away are not printed. With\n' +
        '--output json each record is one line, with its headers.\n' +
        '\nExamples:\n  spconnect tail instruments --from-beginning --limit 3\n' +
        '  spconnect tail notifications --until-end --output json\n',
    )
    .action(async (name: string, options: TailOptions) => {
      const { knownTopic } = await import('../../operator/known-topic.ts');
      const { tailTopic } = await import('../../operator/tail-operation.ts');
      const {
        config,
        fromBeginning,
        untilEnd,
        key = null,
        limit = Number.POSITIVE_INFINITY,
        showUrl,
        output,
      } = options;
      const print = output === 'json' ? jsonLine : recordText;
      await atTopics(context, {
        config,
        needs: [],
        check: (settings) => knownTopic(settings, name),
        async work(at, topic) {
          await untilAborted(at.kafka.ensureTopics([topic], { create: false }), signal);
          stderr.write(untilEnd ? `Reading ${topic.name}.\n` : `Following ${topic.name}; Ctrl-C ends it.\n`);
          const onRecord = (record: ReadableTopicRecord) =>
            writeAll(stdout, print(showUrl ? record : withoutUrlIn(record)), signal);
          await tailTopic(at, { topic, key, fromBeginning, untilEnd, limit, onRecord });
        },
      });
    });
}
