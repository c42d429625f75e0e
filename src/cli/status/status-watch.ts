import type { Status } from '../../admin/status/status.ts';
import { requestStatus } from '../../admin/status/status-request.ts';
import { createLiveBlock } from '../../demo/live-block.ts';
import { ConnectorError } from '../../errors.ts';
import type { Clock } from '../../support/clock.ts';
import { jsonLine, type Output, textTable } from '../output.ts';
import type { Terminal } from '../terminal.ts';
import { statusScreen } from './status-screen.ts';
import { statusSentence, statusTable, statusTroubles } from './status-text.ts';

const EVERY_MS = 2_000;

/** Shows a status; `message`: why there is no newer one. */
type Show = (status: Status, message?: string) => void;

/**
 * Shows the status again and again until the command is stopped: on a terminal in place, elsewhere one below the other.
 *
 * @throws ConnectorError ADMIN_UNREACHABLE when not even the first request is answered; later ones are tried again.
 */
export async function watchStatus(options: {
  readonly base: string;
  readonly output: Output;
  readonly terminal: Terminal;
  readonly clock: Pick<Clock, 'sleep'>;
}): Promise<void> {
  const { base, output, terminal, clock } = options;
  const { signal } = terminal;
  const show = showFor(output, terminal);
  let newest: Status | null = null;
  try {
    for (;;) {
      try {
        newest = await requestStatus(base, signal);
        show(newest);
      } catch (error) {
        if (newest === null || !(error instanceof ConnectorError)) throw error;
        show(newest, `${error.message} Trying again; this was at ${newest.at}:`);
      }
      await clock.sleep(EVERY_MS, signal);
    }
  } catch (error) {
    // That is how it ends.
    if (!signal.aborted) throw error;
  }
}

function showFor(output: Output, { stdout, stderr }: Terminal): Show {
  if (output === 'json') {
    return (status, message) => {
      if (message === undefined) stdout.write(jsonLine(status));
      else stderr.write(textTable([[message]]));
    };
  }
  if (stdout.isTTY !== true) {
    return (status, message) => {
      const lines = message === undefined ? [statusSentence(status), ...statusTroubles(status)] : [message];
      const table = message === undefined ? textTable(statusTable(status)) : '';
      stdout.write(`${lines.map((line) => textTable([[line]])).join('')}${table}\n`);
    };
  }
  const block = createLiveBlock(stdout);
  return (status, message) => {
    // The last column stays free: a full line would wrap on some terminals.
    const { columns = 80, rows = 24 } = stdout;
    const above = message === undefined ? [] : [message];
    const size = { columns: columns - 1, rows: rows - 2 - above.length };
    block.show([...above, ...statusScreen(status, size), 'Ctrl-C ends.']);
  };
}
