import { logEvents } from '../observe/event-table.ts';
import { createLog } from '../observe/pino-log.ts';
import { runConnector } from '../run/connector.ts';
import type { Roles } from '../run/context.ts';
import { projectVersion } from '../support/version.ts';
import { loadWithWarnings } from './command-settings.ts';
import { describeError } from './shell/describe-error.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

/** `run`: runs the connector until it is stopped. Writes the log to stdout, and the reasons of failures to stderr. */
export async function runCommand(context: CommandContext, { roles }: { readonly roles: Roles }): Promise<void> {
  const { config, stdout, stderr, signal, exitWith, redaction } = context;
  let reportUnreadable = (_problem: string): void => {};
  const { settings, warnings } = await loadWithWarnings(context, (problem) => reportUnreadable(problem));
  const { prefix, kafka, schemaRegistry, referenceData, sources } = settings;
  const { level, format } = settings.log;
  const isColoured = stdout.isTTY === true;
  const usual = isColoured ? 'text' : 'json';
  const log = createLog({ level, redaction, isColoured, format: format === 'auto' ? usual : format });
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
  reportUnreadable = (problem) =>
    log.warn({ problem }, 'the file of a secret cannot be read; its last good content is used');
  for (const warning of warnings) log.warn({ settings: config, warning }, 'the settings may be wrong');
  const events = logEvents(log);
  const failures: string[] = [];
  const failed = await runConnector({
    settings,
    settingsFile: config,
    log,
    events: {
      ...events,
      sourceFailed(event) {
        events.sourceFailed(event);
        failures.push(`source ${event.source}: ${describeError(event.err, redaction, event.source)}`);
      },
      processorFailed(event) {
        events.processorFailed(event);
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
}
