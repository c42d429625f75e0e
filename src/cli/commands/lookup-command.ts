import { type Command, InvalidArgumentError } from 'commander';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import { silentLog } from '../../support/log.ts';
import type { CommandContext } from '../command-context.ts';
import { jsonText, type Output, outputOption } from '../output.ts';
import { fieldsText } from '../record-text.ts';
import { EXIT_CODES } from '../terminal.ts';
import { withoutUrl } from './check-text.ts';
import { loadWithoutKafka } from './partial-settings.ts';
import { priceCommand } from './price-command.ts';

const LONGEST_ID = 512;

interface CheckOptions {
  readonly config: string;
  readonly showUrl: boolean;
  readonly output: Output;
}

/** `lookup`: things asked of the provider itself; neither Kafka nor the registry is needed. `lookup check <id>`: one pre-trade check. */
export function lookupCommand(program: Command, context: CommandContext): void {
  const { stdout, stderr, signal, exitWith } = context;
  const lookup = program
    .command('lookup')
    .description('Print one price or one pre-trade check from the provider.')
    .addHelpText('after', '\nExample:\n  spconnect lookup price CH0012032048\n');
  priceCommand(lookup, context);
  lookup
    .command('check')
    .description('Print one pre-trade check. Its URL allows trading: it is printed only with --show-url.')
    .argument('<id>', 'the id of the check, as the platform shows it', checkId)
    .option('--show-url', 'print the simulation URL too', false)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText('after', '\nExample:\n  spconnect lookup check PTC-0123456789 --output json\n')
    .action(async (id: string, { config, showUrl, output }: CheckOptions) => {
      const { lookUpCheck } = await import('../../operator/check-lookup.ts');
      const { referenceData } = await loadWithoutKafka(config, context);
      const check = await lookUpCheck(referenceData, id, { log: silentLog, signal });
      if (check === null) {
        stderr.write(
          'The provider answered with 404: it has no pre-trade check with this id, or referenceData.url is wrong (spconnect validate --connect tries it).\n',
        );
        exitWith(EXIT_CODES.failed);
        return;
      }
      const shown = showUrl ? check : withoutUrl(check);
      stdout.write(output === 'json' ? jsonText(shown) : fieldsText(shown));
    });
}

function checkId(text: string): string {
  // A dot or two would be another path.
  if (text === '' || text.length > LONGEST_ID || /^\.{1,2}$/.test(text)) {
    throw new InvalidArgumentError('Expected the id of a pre-trade check.');
  }
  return text;
}
