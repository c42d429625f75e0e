import { type Command, Option } from 'commander';
import type { Roles } from '../../app/connector.ts';
import { DEFAULT_SETTINGS_FILE } from '../../config/load.ts';
import { projectVersion } from '../../support/version.ts';
import type { CommandContext } from '../command-context.ts';
import { describeError } from '../describe-error.ts';
import { loadWithWarnings } from '../load-with-warnings.ts';
import { EXIT_CODES } from '../terminal.ts';

const ROLES: readonly Roles[] = ['sources', 'processor', 'both'];

/** `run`: the connector, until it is stopped. Its log is its output; why it failed is on stderr too. */
export function runCommand(program: Command, context: CommandContext): void {
  const { env, stdout, stderr, signal, exitWith, redaction } = context;
  program
    .command('run')
    .description('Run the sources and the price processor of the settings until SIGTERM or SIGINT.')
    .option('--config <file>', 'the settings file', DEFAULT_SETTINGS_FILE)
    .addOption(new Option('--roles <roles>', 'what this process does').choices(ROLES).default('both'))
    .addHelpText('after', '\nExample:\n  spconnect run --config config/connector.yaml\n')
    .action(async ({ config, roles }: { config: string; roles: Roles }) => {
      const { runConnector } = await import('../../app/connector.ts');
      const { logConnectorEvents, logProcessorEvents } = await import('../../observability/event-log.ts');
      const { createLog } = await import('../../observability/pino-log.ts');
      const { settings, warnings } = await loadWithWarnings({ file: config, env, redaction });
      const { prefix, kafka, schemaRegistry, referenceData, sources } = settings;
      const { level, format } = settings.log;
      const usual = stdout.isTTY === true ? 'text' : 'json';
      const isColoured = stdout.isTTY === true;
      const log = await createLog({ level, redaction, isColoured, format: format === 'auto' ? usual : format });
      log.info(
        {
          version: projectVersion(),
          node: process.versions.node,
          settings: config,
          prefix,
          roles,
          sources: sources.map(({ name }) => name),
          kafka: kafka.brokers,
          schemaRegistry: schemaRegistry.url,
          referenceData: referenceData.url,
        },
        'starting',
      );
      for (const warning of warnings) log.warn({ settings: config, warning }, 'the settings may be wrong');
      const events = logConnectorEvents(log);
      const processorEvents = logProcessorEvents(log);
      const failures: string[] = [];
      const failed = await runConnector({
        settings,
        log,
        events: {
          ...events,
          sourceFailed(event) {
            events.sourceFailed(event);
            failures.push(`source ${event.source}: ${describeError(event.err, redaction, event.source)}`);
          },
        },
        processorEvents: {
          ...processorEvents,
          processorFailed(event) {
            processorEvents.processorFailed(event);
            failures.push(`price processor: ${describeError(event.err, redaction)}`);
          },
        },
        roles,
        droppedLogLines: log.droppedLines,
        redact: redaction.redact,
        signal,
      });
      if (failed.length === 0) return;
      stderr.write(failures.join(''));
      exitWith(EXIT_CODES.failed);
    });
}
