import { createStatusBoard, type StatusBoard } from '../../../src/admin/status/status-board.ts';
import { setStatusGauges } from '../../../src/admin/status/status-gauges.ts';
import { SOURCE_WORDS } from '../../../src/config/groups/sources.ts';
import type { SourceSettings } from '../../../src/config/settings.ts';
import { toAll } from '../../../src/observe/event-table.ts';
import { createMetrics, type Metrics } from '../../../src/observe/metrics.ts';
import { type Clock, systemClock } from '../../../src/support/clock.ts';
import { operator } from './operator.ts';

/** The metrics of a connector that gets its events from the test, beside the status that its gauges are read from. */
export function statusMetrics({
  sources = ['instruments'],
  clock = systemClock,
  kafkaAnsweredMs = clock.monotonicMs,
  type = 'instruments',
  prices = true,
  droppedLogLines,
}: {
  readonly sources?: readonly string[];
  readonly clock?: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  readonly kafkaAnsweredMs?: () => number | null;
  readonly type?: SourceSettings['type'];
  readonly prices?: boolean;
  readonly droppedLogLines?: () => number;
} = {}): Metrics & { readonly board: StatusBoard; readonly operator: ReturnType<typeof operator> } {
  const { polled } = SOURCE_WORDS[type];
  const series = sources.flatMap((source) => polled.map((endpoint) => ({ source, endpoint })));
  const metrics = createMetrics({ version: '1.2.3', sources, series, prices, droppedLogLines });
  const wishes = operator([...sources, 'prices']);
  const board = createStatusBoard({
    version: '1.2.3',
    prefix: 'p',
    sources: sources.map((name) => ({ name, type })),
    processor: prices ? 'prices' : null,
    targets: wishes.targets,
    clock,
    kafkaAnsweredMs,
    clocksAheadMs: metrics.clocksAheadMs,
    redact: (text) => text,
    signal: new AbortController().signal,
  });
  metrics.follow((meters) => setStatusGauges(board.status(), meters));
  const events = toAll([board.events, metrics.events]);
  return { ...metrics, events, board, operator: wishes };
}
