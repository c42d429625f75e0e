import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import type { CommandContext } from '../command-context.ts';
import { wholeNumberOption } from '../numbers.ts';
import { jsonLine, type Output, outputOption } from '../output.ts';
import { recordText } from '../record-text.ts';
import { withoutUrlIn } from './check-text.ts';
import { knownSource } from './known-source.ts';
import { loadWithoutKafka } from './partial-settings.ts';

interface PreviewOptions {
  readonly config: string;
  readonly from?: string;
  readonly limit: number;
  readonly showUrl: boolean;
  readonly output: Output;
}

/** `preview`: what a page of the provider would become, without Kafka or a registry. */
export function previewCommand(program: Command, context: CommandContext): void {
  const { stdout, stderr, signal } = context;
  const command = program
    .command('preview')
    .description('Read one page from the provider and print its records; needs no Kafka.')
    .argument('<source>', 'the name of a source')
    .option('--from <cursor>', 'an id of the list, or an offset of the stream; without it, the first page')
    .option('--limit <count>', 'rows, events or checks at most', wholeNumberOption, 10)
    .option('--show-url', 'print the simulation URLs of pre-trade checks, which let their holder trade', false)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nWhat would be a dead letter is printed as one, with its reason. With --output json each record is one line.\n' +
        '\nExample:\n  spconnect preview instruments --limit 2\n',
    )
    .action(async (name: string, { config, from, limit, showUrl, output }: PreviewOptions) => {
      const { preview } = await import('../../operator/preview-operation.ts');
      const settings = await loadWithoutKafka(config, context);
      const source = knownSource(command, name, settings.sources);
      const records = await preview({ settings, source, from: from ?? null, limit: Math.max(limit, 1), signal });
      const print = output === 'json' ? jsonLine : recordText;
      for (const record of records) stdout.write(print(showUrl ? record : withoutUrlIn(record)));
      if (records.length === 0) stderr.write('The provider has no rows, events or checks there now.\n');
    });
}
