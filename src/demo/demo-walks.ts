import type { Settings } from '../config/settings.ts';
import type { ProgressLine } from '../local-stack/progress-line.ts';
import type { ConnectorEvents, WalkCompleted } from '../observability/connector-events.ts';
import type { LiveBlock } from './live-block.ts';
import type { WalkProgress } from './walk-progress.ts';

/** Products that the provider drops without an event leave the topic at the next walk; a day is too long to watch. */
const WALK_INTERVAL_MS = 120_000;

/**
 * A walk deletes nothing that an event named within the last 90 minutes (src/connector/walk/census.ts): a list without
 * it may be an old one. So repaid products stay on the simulated list for longer than that, as they do at a provider,
 * and some were repaid before the demo began.
 */
export const DEMO_PROVIDER = { seed: 1, port: 0, delistAfterMs: 2 * 3_600_000, repaidAtFirst: 0.1 } as const;

/** The settings of the demo: it walks every two minutes. */
export function withFrequentWalks(settings: Settings): Settings {
  const sources = settings.sources.map((source) =>
    source.type === 'instruments' ? { ...source, walkIntervalMs: WALK_INTERVAL_MS } : source,
  );
  return { ...settings, sources };
}

/** The first walk has a line of progress; each later one is a line among the events. */
export function walkEvents(
  {
    line,
    progress,
    live,
  }: {
    readonly line: Pick<ProgressLine, 'show'>;
    readonly progress: Pick<WalkProgress, 'pageCommitted'>;
    readonly live: Pick<LiveBlock, 'print'>;
  },
  firstCompleted: (walk: WalkCompleted) => void,
): Pick<ConnectorEvents, 'walkStarted' | 'pageCommitted' | 'walkCompleted'> {
  let isFirst = true;
  return {
    walkStarted() {
      if (isFirst) line.show('Reading the event stream up to date before the first page …');
    },
    pageCommitted(event) {
      if (isFirst) progress.pageCommitted(event);
    },
    walkCompleted(walk) {
      if (isFirst) firstCompleted(walk);
      else live.print(walkLine(walk));
      isFirst = false;
    },
  };
}

function walkLine({ walk, rows, added, corrected, gone }: WalkCompleted): string {
  const counts = [`${rows} rows`, `${added} added`, `${corrected} corrected`, `${gone} gone`];
  return `  ${`walk ${walk}`.padEnd(14)} ${counts.join(', ')}`;
}
