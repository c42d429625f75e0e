import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { jsonText, outputOption, textTable } from '../output.ts';
import { EXIT_CODES } from '../terminal.ts';
import { loadWithoutKafka } from './partial-settings.ts';

/** `doctor`: what the provider does where its interface shows nothing, beside what we assume. */
export function doctorCommand(program: Command, context: CommandContext): void {
  const { stdout, stderr, signal, exitWith, redaction } = context;
  program
    .command('doctor')
    .description(
      'Check how the provider behaves where its documentation says nothing, and compare with what we assume.',
    )
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      '\nIt only reads: fewer than 40 requests, within requestsPerSecond. The exit code is 1 when something differs.\n' +
        '\nExample:\n  spconnect doctor\n',
    )
    .action(async ({ config, output }: DataOptions) => {
      const { examineProvider } = await import('../../operator/doctor/doctor-operation.ts');
      const settings = await loadWithoutKafka(config, context);
      const findings = (await examineProvider(settings, signal)).map((one) => ({
        ...one,
        found: redaction.redact(one.found),
      }));
      const rows = findings.map(({ what, found, assumed, state }) => [state, what, found, assumed]);
      stdout.write(output === 'json' ? jsonText(findings) : textTable([['', 'finding', 'found', 'assumed'], ...rows]));
      if (findings.every(({ state }) => state !== 'differs')) return;
      stderr.write('The provider differs from what the connector assumes: see part 10 of src/provider/README.md.\n');
      exitWith(EXIT_CODES.failed);
    });
}
