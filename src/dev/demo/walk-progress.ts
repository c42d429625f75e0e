import { counted } from '../../admin/texts.ts';
import type { Events, PageCommitted, WalkCompleted } from '../../observe/events.ts';
import type { Clock } from '../../support/clock.ts';
import type { ProgressLine } from '../local-stack/progress-line.ts';

const MIB = 1024 * 1024;

export interface WalkProgress {
  /** Counts the page of this event and shows the progress. */
  readonly pageCommitted: (event: PageCommitted) => void;
  text(): string;
}

/** Counts the committed pages of a walk and updates the progress line. The time begins with the request for page 1. */
export function createWalkProgress(line: Pick<ProgressLine, 'show' | 'end'>, clock: Clock): WalkProgress {
  let startedMs = clock.monotonicMs();
  let pages = 0;
  let records = 0;
  let deadLetters = 0;
  let jsonBytes = 0;
  let endedMs = startedMs;
  const text = () => {
    const seconds = Math.max((endedMs - startedMs) / 1_000, 0.001);
    const rate = Math.round(records / seconds);
    const dead = deadLetters === 0 ? '' : ` · ${counted(deadLetters, 'dead letter')}`;
    return (
      `${counted(pages, 'page')} · ${counted(records, 'record')}${dead} · ${rate.toLocaleString('en')} records/s · ` +
      `${(jsonBytes / MIB).toFixed(1)} MiB of JSON · ${seconds.toFixed(1)} s`
    );
  };
  return {
    text,
    pageCommitted(event) {
      endedMs = clock.monotonicMs();
      // A walk can begin again. The counts then begin again too.
      if (event.page === 1) [pages, records, deadLetters, jsonBytes] = [0, 0, 0, 0];
      if (pages === 0) startedMs = endedMs - event.fetchMs - event.commitMs;
      pages += 1;
      records += event.records;
      deadLetters += event.deadLetters;
      jsonBytes += event.jsonBytes;
      line.show(text());
    },
  };
}

/** Shows the first walk on the progress line. Prints one line for each later walk. */
export function walkEvents(
  {
    line,
    progress,
    print,
  }: {
    readonly line: Pick<ProgressLine, 'show'>;
    readonly progress: Pick<WalkProgress, 'pageCommitted'>;
    readonly print: (text: string) => void;
  },
  firstCompleted: (walk: WalkCompleted) => void,
): Pick<Events, 'walkStarted' | 'pageCommitted' | 'walkCompleted'> {
  let isFirst = true;
  return {
    walkStarted() {
      if (isFirst) line.show('Following the event stream before the first page, because the list may lag behind it …');
    },
    pageCommitted(event) {
      if (isFirst) progress.pageCommitted(event);
    },
    walkCompleted(walk) {
      if (isFirst) firstCompleted(walk);
      else print(walkLine(walk));
      isFirst = false;
    },
  };
}

function walkLine({ walk, rows, added, corrected, gone }: WalkCompleted): string {
  const found = Object.entries({ rows, added, corrected, gone });
  const counts = found.map(([what, count]) => `${count.toLocaleString('en')} ${what}`);
  return `  ${`walk ${walk}`.padEnd(14)} ${counts.join(', ')}`;
}
