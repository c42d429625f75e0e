import type { Command } from 'commander';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import { ConnectorError } from '../../errors.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { loadWithWarnings } from '../load-with-warnings.ts';
import { jsonText, outputOption, textTable } from '../output.ts';
import { EXIT_CODES } from '../terminal.ts';

interface ValidateOptions extends DataOptions {
  readonly connect: boolean;
}

/** `validate`: everything that is wrong with the settings at once, and whether what they name answers. */
export function validateCommand(program: Command, context: CommandContext): void {
  const { env, stdout, stderr, signal, exitWith, redaction } = context;
  program
    .command('validate')
    .description('Check the settings; with --connect, also the provider, Kafka, its topics and the registry.')
    .option('--connect', 'also connect to what the settings name; changes nothing', false)
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText('after', '\nExamples:\n  spconnect validate\n  spconnect validate --connect --output json\n')
    .action(async ({ config, connect, output }: ValidateOptions) => {
      const loaded = await loadWithWarnings({ file: config, env, redaction }).catch(problemsOf);
      if (!('settings' in loaded)) {
        const problems = loaded.map((line) => redaction.redact(line));
        stdout.write(output === 'json' ? jsonText({ ok: false, problems }) : textTable(problems.map((line) => [line])));
        stderr.write('config/connector.yaml lists every setting, config/README.md explains how to set them.\n');
        exitWith(EXIT_CODES.usage);
        return;
      }
      const { settings, warnings } = loaded;
      if (output === 'text') for (const warning of warnings) stderr.write(`warning: ${warning}\n`);
      if (!connect) {
        const sources = settings.sources.map(({ name }) => name);
        stdout.write(
          output === 'json'
            ? jsonText({ ok: true, problems: [], warnings })
            : textTable([[`${config}: ok; sources: ${sources.join(', ')}`]]),
        );
        return;
      }
      const { checkConnections } = await import('../../operator/connection-check.ts');
      const checks = await checkConnections({ settings, signal });
      const ok = checks.every(({ state }) => state === 'ok');
      const clean = checks.map((check) => ({ ...check, says: redaction.redact(check.says) }));
      if (output === 'json') stdout.write(jsonText({ ok, problems: [], warnings, checks: clean }));
      else stdout.write(textTable(clean.map(({ what, state, says, toDo }) => [state, what, `${says} ${toDo}`])));
      if (ok) return;
      stderr.write('Some checks failed: the lines above say what was found, and what to do.\n');
      exitWith(EXIT_CODES.failed);
    });

  /** The lines about what is wrong; an error of another kind goes on. */
  function problemsOf(error: unknown): readonly string[] {
    if (!(error instanceof ConnectorError) || error.code !== 'SETTINGS_INVALID') throw error;
    const [title = '', ...lines] = error.message.split('\n');
    return lines.length === 0 ? [title] : lines;
  }
}
