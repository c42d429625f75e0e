import { randomBytes } from 'node:crypto';
import type { Writable } from 'node:stream';
import { runConnector } from '../app/connector.ts';
import type { Settings } from '../config/settings.ts';
import { startLocalStack } from '../local-stack/local-stack.ts';
import { createProgressLine, type ProgressLine } from '../local-stack/progress-line.ts';
import type { LocalStack } from '../local-stack/stack-context.ts';
import type { WalkCompleted } from '../observability/connector-events.ts';
import { logConnectorEvents, logProcessorEvents } from '../observability/event-log.ts';
import type { LogDestination } from '../observability/log-output.ts';
import { createLog } from '../observability/pino-log.ts';
import { createRedaction } from '../observability/redaction.ts';
import { createSimulator, type Simulator } from '../simulator/simulator.ts';
import { systemClock as clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import { systemRandom } from '../support/system-random.ts';
import { DEMO_PROVIDER, demoSettings } from './demo-settings.ts';
import { walkEvents } from './demo-walks.ts';
import { eventLines } from './event-lines.ts';
import { firstPrices } from './first-prices.ts';
import { createLiveBlock, type LiveBlock } from './live-block.ts';
import { createPriceBoard, type PriceBoard, wrapped } from './price-board.ts';
import { writeShellFile } from './shell-file.ts';
import { printSummary } from './summary.ts';
import { createWalkProgress, type WalkProgress } from './walk-progress.ts';

/** After the walk: enough to see something, slow enough to read it. */
const CHANGES_PER_SECOND = 3;
/** On a terminal the table is rewritten in place, elsewhere it comes again. */
const TABLE_INTERVAL_MS = { terminal: 1_000, elsewhere: 10_000 };

export interface DemoOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly signal: AbortSignal;
  /** End when the walk is done and all is priced, instead of staying up. */
  readonly once: boolean;
  readonly instruments: number;
}

/**
 * The main job, whole, on real parts that are started here: Kafka, registry, simulated provider, connector.
 *
 * @returns whether the walk was completed.
 */
export async function runDemo(options: DemoOptions): Promise<boolean> {
  const { stdout, stderr, once, instruments } = options;
  const line = createProgressLine(stderr, () => clock.monotonicMs());
  const done = new AbortController();
  const signal = AbortSignal.any([options.signal, done.signal]);
  await using cleanUp = new AsyncDisposableStack();
  const live = createLiveBlock(stdout);
  const parts = await startParts(options, { line, live }, cleanUp);
  const progress = createWalkProgress(line, clock);
  const board = createPriceBoard(clock, parts.settings.prices.kinds.overview.refreshIntervalMs);
  const { connector, walked, statusPage } = startConnector({ ...parts, line, progress, board, live, signal });
  const walk = await walked;
  line.end();
  if (walk !== null) {
    await Promise.race([firstPrices(instruments, board, line, clock, signal), connector]);
    line.end();
    const shown = { ...parts, walk, progress, board, stdout, clock, random: systemRandom, signal };
    const shell = { ...parts, statusPage: statusPage() };
    const shellFile = once ? null : await writeShellFile(shell, cleanUp);
    const names = await printSummary({ ...shown, ...shell, shellFile });
    if (once) done.abort(new Error('the walk is complete'));
    else {
      stdout.write('\nThe provider now changes its instruments, until Ctrl-C. Events, as they are committed:\n');
      parts.simulator.setChangeRate(CHANGES_PER_SECOND);
      const where = stdout.isTTY && shellFile !== null ? placeLines(shell.statusPage, shellFile) : [];
      const lines = () => {
        const columns = stdout.isTTY ? stdout.columns : undefined;
        return ['', ...board.table(names, columns), ...wrapped(board.freshnessLine(), columns), ...where];
      };
      const intervalMs = stdout.isTTY ? TABLE_INTERVAL_MS.terminal : TABLE_INTERVAL_MS.elsewhere;
      await Promise.race([showPrices(live, lines, intervalMs, signal), connector]);
    }
  }
  await connector;
  return walk !== null;
}

/** Stays in sight on a terminal, where all that was printed before scrolls away. */
function placeLines(statusPage: string | null, shellFile: string): string[] {
  return [
    ...(statusPage === null ? [] : [`Status page ${statusPage}`]),
    `In another shell: . ${shellFile} && npx spconnect status`,
  ];
}

interface DemoParts {
  readonly stack: LocalStack;
  readonly simulator: Simulator;
  readonly settings: Settings;
  readonly adminToken: string;
  readonly log: Log;
}

/** Kafka, registry and provider, with the settings that name them; `cleanUp` ends each of them. */
async function startParts(
  { env, stderr, signal, instruments }: DemoOptions,
  { line, live }: { readonly line: ProgressLine; readonly live: LiveBlock },
  cleanUp: AsyncDisposableStack,
): Promise<DemoParts> {
  const onProgress = (text: string) => {
    line.show(text);
    // Each line stays: one of them may say why a way is not available, or where a log was kept.
    line.end();
  };
  const stack = await startLocalStack({ env, clock, signal, onProgress });
  cleanUp.defer(() => stack.stop());
  const simulator = await createSimulator({ ...DEMO_PROVIDER, instruments });
  cleanUp.defer(() => simulator.close());
  onProgress(`Kafka at ${stack.brokers.join(',')}, schema registry at ${stack.registryUrl} (${stack.how})`);
  const redaction = createRedaction();
  const adminToken = randomBytes(9).toString('base64url');
  const prefix = `demo-${clock.wallMs().toString(36)}`;
  const settings = await demoSettings({ env, stack, simulator, prefix, adminToken, onSecret: redaction.register });
  const log = await createLog({
    level: 'warn',
    redaction,
    format: 'text',
    isColoured: stderr.isTTY === true,
    destination: logAbove({ line, live, isTerminal: stderr.isTTY === true }),
  });
  return { stack, simulator, settings, adminToken, log };
}

/** On a terminal, lines of the log come above what is rewritten in place, and not into it. Exported for tests. */
export function logAbove({
  line,
  live,
  isTerminal,
}: {
  readonly line: Pick<ProgressLine, 'print'>;
  readonly live: Pick<LiveBlock, 'print' | 'isShown'>;
  readonly isTerminal: boolean;
}): LogDestination {
  return {
    write(text) {
      const above = isTerminal && live.isShown() ? live : line;
      above.print(text.trimEnd());
    },
  };
}

/** The connector, its first complete walk (null where it ended before), and its status page once it listens. */
function startConnector({
  settings,
  log,
  line,
  progress,
  board,
  live,
  signal,
}: Pick<DemoParts, 'settings' | 'log'> & {
  readonly line: ProgressLine;
  readonly progress: WalkProgress;
  readonly board: PriceBoard;
  readonly live: LiveBlock;
  readonly signal: AbortSignal;
}) {
  const completed = Promise.withResolvers<WalkCompleted | null>();
  let statusPage: string | null = null;
  const connector = runConnector({
    settings,
    log,
    events: {
      ...logConnectorEvents(log),
      adminListening({ url }) {
        statusPage = url;
      },
      ...walkEvents({ line, progress, live }, completed.resolve),
      eventsCommitted(event) {
        for (const text of eventLines(event)) live.print(text);
      },
    },
    processorEvents: { ...logProcessorEvents(log), ...board.events },
    signal,
  });
  connector.then(
    () => completed.resolve(null),
    (error: unknown) => completed.reject(error),
  );
  return { connector, walked: completed.promise, statusPage: () => statusPage };
}

async function showPrices(
  live: LiveBlock,
  lines: () => readonly string[],
  intervalMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    live.show(lines());
    await clock.sleep(intervalMs, signal).catch(() => {});
  }
}
