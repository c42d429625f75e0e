import type { WholeStatus } from '../admin/status/status.ts';
import { viewOf } from '../admin/status/status-view.ts';
import type { AdminSettings } from '../config/settings.ts';
import { ConnectorError } from '../errors.ts';
import { type Clock, systemClock } from '../support/clock.ts';
import { loadWithoutProvider } from './command-settings.ts';
import { adminUrl } from './shell/health-probe.ts';
import { jsonLine, print, printable } from './shell/output.ts';
import { type CommandContext, EXIT_CODES } from './shell/terminal.ts';

const EVERY_MS = 2_000;
const TIMEOUT_MS = 10_000;
/** Moves the cursor to the first row and column, and clears everything after the cursor. */
const CLEAR = '\u001b[H\u001b[J';

export async function statusCommand(
  context: CommandContext,
  { url, watch }: { readonly url?: string; readonly watch: boolean },
): Promise<void> {
  const base = url ?? ownUrl((await loadWithoutProvider(context)).admin);
  if (watch) return watchStatus(context, base, systemClock);
  const status = await requestStatus(base, context.signal);
  print(context, status, linesText([...headLines(status), ...cardLines(status)]));
  if (!status.ready) context.exitWith(EXIT_CODES.failed);
}

function ownUrl(admin: AdminSettings): string {
  if (admin.enabled) return adminUrl(admin);
  const why = 'The settings turn off the admin server (admin.enabled: false), and only this server shows the status.';
  throw new ConnectorError('ADMIN_UNREACHABLE', why);
}

/**
 * Shows the status repeatedly until the command is stopped. A terminal shows the first lines of the newest status, as
 * many as fit. Other output gets one status after another. Exported for tests.
 *
 * @throws ConnectorError ADMIN_UNREACHABLE if the first request fails; later requests are repeated.
 */
export async function watchStatus(
  { stdout, stderr, signal, output }: Pick<CommandContext, 'stdout' | 'stderr' | 'signal' | 'output'>,
  base: string,
  clock: Pick<Clock, 'sleep'>,
): Promise<void> {
  let newest: WholeStatus | null = null;
  try {
    for (;;) {
      let problem: string[] = [];
      try {
        newest = await requestStatus(base, signal);
      } catch (error) {
        if (newest === null || !(error instanceof ConnectorError)) throw error;
        problem = [printable(`${error.message} Trying again. The status of ${newest.at}:`)];
      }
      const lines = [...problem, ...headLines(newest), ...cardLines(newest)];
      if (output === 'json' && problem.length > 0) stderr.write(linesText(problem));
      else if (output === 'json') stdout.write(jsonLine(newest));
      else if (stdout.isTTY) stdout.write(`${CLEAR}${linesText(fitting(lines, stdout))}`);
      else stdout.write(`${linesText(lines)}\n`);
      await clock.sleep(EVERY_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** The first lines that fit; the last row stays free for the cursor. */
function fitting(lines: readonly string[], { columns = 80, rows = 24 }: CommandContext['stdout']): readonly string[] {
  let left = rows - 1;
  const end = lines.findIndex((line) => {
    left -= Math.max(1, Math.ceil(line.length / columns));
    return left < 0;
  });
  return end < 0 ? lines : lines.slice(0, end);
}

/** `structured-products: ready; version 1.2.3, up 5 h`, then the problems and a summary of sources and replicas. */
function headLines(status: WholeStatus): string[] {
  const { title, ready, about, alarms, summary, checks } = viewOf(status);
  const notReady = checks.flatMap(({ level, text }) => (level === 'good' ? [] : [`Not ready: ${text}`]));
  return [`${title}: ${ready.label}; ${about}`, ...alarms.map(({ text }) => text), ...notReady, summary].map(printable);
}

/** A line for each source and the processor, followed by one short line for each problem and each fact. */
function cardLines(status: WholeStatus): string[] {
  return viewOf(status).cards.flatMap(({ name, about, state, age, notes, facts }) => {
    const rows = [
      ...notes.map(({ label, text }) => [label, text.replace(/\s+/g, ' ')] as const),
      ...facts.map(({ label, value, command }) => [label, command ? `${value}; see ${command}` : value] as const),
    ];
    const width = Math.max(...rows.map(([label]) => label.length));
    const lines = rows.map(([label, text]) => `  ${label === '' ? '' : `${label.padEnd(width)}  `}${text}`);
    return [`${name}: ${state} ${age}; ${about}`, ...lines].map(printable);
  });
}

function linesText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join('');
}

/** Requests the status from this address. @throws ConnectorError ADMIN_UNREACHABLE, or the signal's reason. */
async function requestStatus(base: string, signal: AbortSignal): Promise<WholeStatus> {
  try {
    const timely = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const response = await fetch(`${base}/status.json`, { redirect: 'error', signal: timely });
    if (!response.ok) throw await refusalOf(response, base);
    return (await response.json()) as WholeStatus;
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof ConnectorError) throw cause;
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    const why = inner instanceof Error ? inner.message : String(inner);
    throw new ConnectorError('ADMIN_UNREACHABLE', `No admin server responded at ${base} (${why}).`, { cause });
  }
}

/** An admin server gives its reason as `message`. Of any other server, only the status is reported. */
async function refusalOf(response: Response, base: string): Promise<Error> {
  const body = (await response.json().catch(() => null)) as { readonly message?: unknown } | null;
  if (typeof body?.message !== 'string') return new Error(`status ${response.status}`);
  const text = `The server at ${base} refused the request (status ${response.status}): ${body.message}`;
  return new ConnectorError('ADMIN_UNREACHABLE', text);
}
