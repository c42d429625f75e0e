import type { Writable } from 'node:stream';
import { runConnector } from '../app/connector.ts';
import { loadSettings } from '../config/load.ts';
import { startLocalStack } from '../local-stack/local-stack.ts';
import { createProgressLine } from '../local-stack/progress-line.ts';
import { logConnectorEvents, type WalkCompleted } from '../observability/connector-events.ts';
import { createLog } from '../observability/pino-log.ts';
import { logProcessorEvents } from '../observability/processor-events.ts';
import { createRedaction } from '../observability/redaction.ts';
import { createSimulator } from '../simulator/simulator.ts';
import { systemClock } from '../support/clock.ts';
import { systemRandom } from '../support/system-random.ts';
import { DEMO_PROVIDER, walkEvents, withFrequentWalks } from './demo-walks.ts';
import { eventLines } from './event-lines.ts';
import { firstPrices } from './first-prices.ts';
import { createLiveBlock } from './live-block.ts';
import { createPriceBoard } from './price-board.ts';
import { printSummary } from './summary.ts';
import { createWalkProgress } from './walk-progress.ts';

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
  const { env, stdout, stderr, once, instruments } = options;
  const clock = systemClock;
  const line = createProgressLine(stderr, () => clock.monotonicMs());
  const done = new AbortController();
  const signal = AbortSignal.any([options.signal, done.signal]);
  await using cleanUp = new AsyncDisposableStack();

  const onProgress = (text: string) => {
    line.show(text);
    // Each line stays: one of them may say why a way is not available, or where a log was kept.
    line.end();
  };
  const stack = await startLocalStack({ env, clock, signal: options.signal, onProgress });
  cleanUp.defer(() => stack.stop());
  const simulator = await createSimulator({ ...DEMO_PROVIDER, instruments });
  cleanUp.defer(() => simulator.close());
  onProgress(`Kafka at ${stack.brokers.join(',')}, schema registry at ${stack.registryUrl} (${stack.how})`);

  const redaction = createRedaction();
  const loaded = await loadSettings({
    env: {
      POLL_INTERVAL: '2s',
      PRICE_REFRESH_INTERVAL: '10s',
      // A free one: a connector may run beside the demo.
      ADMIN_PORT: '0',
      ...env,
      // Always one of its own: what is simulated must not reach the topics of a real provider.
      TOPIC_PREFIX: `demo-${clock.wallMs().toString(36)}`,
      KAFKA_BROKERS: stack.brokers.join(','),
      SCHEMA_REGISTRY_URL: stack.registryUrl,
      REFERENCE_DATA_URL: simulator.referenceDataUrl,
      MARKET_DATA_URL: simulator.marketDataUrl,
      AUTH_TOKEN_URL: simulator.tokenUrl,
      CLIENT_ID: simulator.clientId,
      CLIENT_SECRET: simulator.clientSecret,
      // That of a real provider is not needed and must not be sent.
      CLIENT_SECRET_FILE: undefined,
    },
    onSecret: redaction.register,
  });
  const settings = withFrequentWalks(loaded);
  const log = await createLog({ level: 'warn', redaction, format: 'text', destination: stderr });
  const progress = createWalkProgress(line, clock);
  const board = createPriceBoard(clock);
  const live = createLiveBlock(stdout);
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
  const walk = await completed.promise;
  line.end();
  if (walk !== null) {
    await Promise.race([firstPrices(simulator.size, board, line, clock, signal), connector]);
    line.end();
    const names = await printSummary({
      settings,
      walk,
      progress,
      board,
      stack,
      simulator,
      statusPage,
      goesOn: !once,
      stdout,
      log,
      clock,
      random: systemRandom,
      signal,
    });
    if (once) done.abort(new Error('the walk is complete'));
    else {
      stdout.write('\nThe provider now changes its instruments, until Ctrl-C. Events, as they are committed:\n');
      simulator.setChangeRate(CHANGES_PER_SECOND);
      await Promise.race([showPrices(() => ['', ...board.table(names), board.freshnessLine()]), connector]);
    }
  }
  await connector;
  return walk !== null;

  async function showPrices(lines: () => readonly string[]): Promise<void> {
    const intervalMs = stdout.isTTY ? TABLE_INTERVAL_MS.terminal : TABLE_INTERVAL_MS.elsewhere;
    while (!signal.aborted) {
      live.show(lines());
      await clock.sleep(intervalMs, signal).catch(() => {});
    }
  }
}
