import type { Command } from 'commander';
import { runConnector } from '../app/connector.ts';
import { DEFAULT_SETTINGS_FILE, loadSettings } from '../config/load.ts';
import { logConnectorEvents } from '../observability/connector-events.ts';
import { createLog } from '../observability/pino-log.ts';
import { createRedaction } from '../observability/redaction.ts';
import { EXIT_CODES, type Terminal } from './terminal.ts';

/** `run`: the connector, until it is stopped. Its log is its output. */
export function runCommand(program: Command, terminal: Terminal, exitWith: (code: number) => void): void {
  program
    .command('run')
    .description('Run the sources of the settings until SIGTERM or SIGINT.')
    .option('--config <file>', 'the settings', DEFAULT_SETTINGS_FILE)
    .addHelpText('after', '\nExample:\n  spconnect run --config config/connector.yaml\n')
    .action(async (options: { config: string }) => {
      const { env, stdout, signal } = terminal;
      const redaction = createRedaction();
      const settings = await loadSettings({ file: options.config, env, onSecret: redaction.register });
      const log = await createLog({ level: settings.log.level, redaction, pretty: stdout.isTTY === true });
      const failedSources = await runConnector({ settings, log, events: logConnectorEvents(log), signal });
      if (failedSources.length > 0) exitWith(EXIT_CODES.failed);
    });
}
