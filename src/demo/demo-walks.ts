import type { ProgressLine } from '../local-stack/progress-line.ts';
import type { ConnectorEvents, WalkCompleted } from '../observability/connector-events.ts';
import type { LiveBlock } from './live-block.ts';
import type { WalkProgress } from './walk-progress.ts';

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
  const found = Object.entries({ rows, added, corrected, gone });
  const counts = found.map(([what, count]) => `${count.toLocaleString('en')} ${what}`);
  return `  ${`walk ${walk}`.padEnd(14)} ${counts.join(', ')}`;
}
