import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE, loadSettingsTree } from '../../config/load.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { jsonText, outputOption } from '../output.ts';

/** `config print`: the settings that would be used, defaults and environment put in, without a secret. */
export function configCommand(program: Command, { env, stdout, redaction }: CommandContext): void {
  program
    .command('config')
    .description('Show the settings.')
    .addHelpText('after', '\nExample:\n  spconnect config print\n')
    .command('print')
    .description(
      'Print the effective settings in the form of the settings file, each with where its value comes from; no secrets.',
    )
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText('after', '\nExample:\n  spconnect config print --output json\n')
    .action(async ({ output, config }: DataOptions) => {
      const { effectiveSettings, settingsYaml } = await import('../../config/print.ts');
      const loaded = await loadSettingsTree({ file: config, env, onSecret: redaction.register });
      const printed = effectiveSettings(loaded, env);
      stdout.write(output === 'json' ? jsonText(printed.value) : settingsYaml(printed));
    });
}
