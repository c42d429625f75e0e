import { type Command, Option } from 'commander';
import { DEFAULT_SETTINGS_FILE, loadSettingsTree } from '../../config/load.ts';
import type { CommandContext } from '../command-context.ts';
import { jsonText } from '../output.ts';

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
    .addOption(new Option('--output <form>', 'the format of stdout').choices(['yaml', 'json']).default('yaml'))
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText('after', '\nExample:\n  spconnect config print --output json\n')
    .action(async ({ output, config }: { output: 'yaml' | 'json'; config: string }) => {
      const { effectiveSettings, settingsYaml } = await import('../../config/print.ts');
      const loaded = await loadSettingsTree({ file: config, env, onSecret: redaction.register });
      const printed = effectiveSettings(loaded, env);
      stdout.write(output === 'json' ? jsonText(printed.value) : settingsYaml(printed));
    });
}
