import type { PageCommitted } from '../observability/connector-events.ts';
import type { Clock } from '../support/clock.ts';
import type { ProgressLine } from './progress-line.ts';

const MIB = 1024 * 1024;

export interface WalkProgress {
  /** Bound to a source's event: counts the page and shows the line. */
  readonly pageCommitted: (event: PageCommitted) => void;
  /** Pages, records, rate and bytes so far, as one line. */
  text(): string;
}

/** Counts pages as they are committed and keeps the progress line current. */
export function createWalkProgress(line: ProgressLine, clock: Clock): WalkProgress {
  const startedMs = clock.monotonicMs();
  let pages = 0;
  let records = 0;
  let deadLetters = 0;
  let jsonBytes = 0;
  let endedMs = startedMs;
  const text = () => {
    const seconds = Math.max((endedMs - startedMs) / 1_000, 0.001);
    const rate = Math.round(records / seconds);
    const dead = deadLetters === 0 ? '' : ` · ${count(deadLetters)} dead letters`;
    return (
      `${count(pages)} pages · ${count(records)} records${dead} · ${count(rate)} records/s · ` +
      `${(jsonBytes / MIB).toFixed(1)} MiB of JSON · ${seconds.toFixed(1)} s`
    );
  };
  return {
    text,
    pageCommitted(event) {
      endedMs = clock.monotonicMs();
      pages += 1;
      records += event.records;
      deadLetters += event.deadLetters;
      jsonBytes += event.jsonBytes;
      line.show(text());
    },
  };
}

function count(value: number): string {
  return value.toLocaleString('en');
}
