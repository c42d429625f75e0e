import { type Command, InvalidArgumentError } from 'commander';
import { adminAddress, requestStatus } from '../../admin/status/status-request.ts';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import { systemClock } from '../../support/clock.ts';
import type { CommandContext, DataOptions } from '../command-context.ts';
import { jsonText, outputOption, textTable } from '../output.ts';
import { EXIT_CODES } from '../terminal.ts';
import { loadWithoutProvider } from './partial-settings.ts';

interface StatusOptions extends DataOptions {
  readonly url?: string;
  readonly watch?: true;
}

/** `status`: how a running connector is, from its admin server. The exit code says whether it is ready. */
export function statusCommand(program: Command, context: CommandContext): void {
  const { stdout, stderr, signal, exitWith } = context;
  program
    .command('status')
    .description('Show the state of a running connector: its sources, their progress, its problems.')
    .option('--url <url>', 'the base URL of its admin server; without it, from the settings file', baseAddress)
    .option('--watch', 'show it again every two seconds, with bars and sparklines on a terminal, until Ctrl-C')
    .addOption(outputOption())
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addHelpText(
      'after',
      `\nThe exit code is 0 when it is ready, and 1 when it is not ready or cannot be reached.
--watch goes on until it is stopped, also while the connector restarts.\n\nExamples:\n  spconnect status --url http://127.0.0.1:8083\n  spconnect status --watch\n`,
    )
    .action(async ({ config, output, url, watch }: StatusOptions) => {
      const base = url ?? adminAddress((await loadWithoutProvider(config, context)).admin);
      if (watch) {
        const { watchStatus } = await import('../status/status-watch.ts');
        return await watchStatus({ base, output, terminal: context, clock: systemClock });
      }
      const { statusSentence, statusTable, statusTroubles } = await import('../status/status-text.ts');
      const status = await requestStatus(base, signal);
      stdout.write(output === 'json' ? jsonText(status) : textTable(statusTable(status)));
      for (const line of [statusSentence(status), ...statusTroubles(status)]) stderr.write(textTable([[line]]));
      if (!status.ready) exitWith(EXIT_CODES.failed);
    });
}

function baseAddress(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) {
    throw new InvalidArgumentError('Expected a URL like http://127.0.0.1:8083.');
  }
  return text.replace(/\/+$/, '');
}
