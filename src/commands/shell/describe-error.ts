import { adviceBehind, ConnectorError } from '../../errors.ts';
import { CONTROL } from '../../observe/log-values.ts';
import type { Redaction } from '../../observe/redaction.ts';

const WHERE_SETTINGS_ARE =
  'Nothing was started. config/connector.yaml lists every setting, config/README.md explains how to set them.';

/**
 * Describes an error for people: the problem and the remedy, or the stack of an unexpected error. For an error
 * of the operating system, the text is only the message, which names the cause. Ends with a line break.
 */
export function describeError(error: unknown, redaction: Pick<Redaction, 'redact'>, source?: string): string {
  return `${withoutControls(redaction.redact(textOf(error, source)))}\n`;
}

/** Writes a blank for each character that could control a terminal. Keeps line breaks. */
export function withoutControls(text: string): string {
  return text.replace(CONTROL, (found) => (found === '\n' ? found : ' '));
}

/** The advice to an operator who runs a command: the connector repeats a failed request, but a command does not. */
export function commandAdvice(...of: Parameters<typeof adviceBehind>): string {
  return adviceBehind(...of).replace(/^Nothing to do: [^.]*\./, 'Run the command again later.');
}

function textOf(error: unknown, source?: string): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof ConnectorError)) return 'syscall' in error ? error.message : (error.stack ?? error.message);
  const { code, message } = error;
  const advice = code === 'SETTINGS_INVALID' ? WHERE_SETTINGS_ARE : commandAdvice(error, source);
  return [`${code}: ${message}`, advice].filter((line) => line !== '').join('\n');
}
