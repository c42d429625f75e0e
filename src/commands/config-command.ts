import { loadSettingsTree } from '../config/load.ts';
import { effectiveSettings, settingsYaml } from '../config/print.ts';
import { print } from './shell/output.ts';
import type { CommandContext } from './shell/terminal.ts';

export async function configPrint(context: CommandContext): Promise<void> {
  const { config, env, redaction } = context;
  const printed = effectiveSettings(await loadSettingsTree({ file: config, env, onSecret: redaction.register }));
  print(context, printed.value, settingsYaml(printed));
}
