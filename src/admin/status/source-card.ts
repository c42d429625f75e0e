import { RETENTION_MS } from '../../connector/stream/retention-gap.ts';
import { countText } from '../drawing/counts.ts';
import { type Html, html } from '../drawing/html.ts';
import { minuteChart } from '../drawing/minute-chart.ts';
import { shareBar } from '../drawing/share-bar.ts';
import { ago, durationText } from './ages.ts';
import { deadLetters, fact, heading, length, note, troubleNotes, unbroken, whenOf } from './card-parts.ts';
import type { SourceStatus, WalkStatus } from './status.ts';

/** Below this there is little time left to correct what keeps the source from reading: a day. */
const CLIFF_IS_NEAR_SECONDS = 86_400;
const RETENTION_SECONDS = RETENTION_MS / 1_000;

/** A source: what it does, how far it is, what is wrong. `now` is the status's instant. */
export function sourceCard(source: SourceStatus, now: string): Html {
  const { type, owned, task, lastPollAt } = source;
  // A source that never ran here has no facts, and those from before another replica took it over are outdated.
  const isKnown = owned !== false && (task !== 'unassigned' || lastPollAt !== null);
  return html`<article class="card">${heading(source, now)}<div class="soft">source of type ${type}</div>
${troubleNotes(source, now)}${owned === false ? note('', 'Another replica runs it.') : null}
${isKnown ? facts(source, now) : null}</article>
`;
}

function facts(source: SourceStatus, now: string): Html {
  const { name, type, lastPollAt, written, since, walk, secondsToNextWalk, perMinute } = source;
  const areChecks = type === 'pre-trade-checks';
  const streamed = areChecks ? `${countText(written.checks)} checks` : `${countText(written.events)} events`;
  const records = type === 'instruments' ? `${countText(written.instruments)} instruments, ${streamed}` : streamed;
  return html`<dl>
${fact('Stream', caughtUp(source))}
${since === null ? null : fact('Offset', html`${since}`)}
${fact('Last poll', whenOf(lastPollAt, now))}
${cliff(source.secondsToRetentionCliff)}
${walk === null ? null : fact('Walk', walkText(walk, now))}
${secondsToNextWalk === null ? null : fact('Next walk', html`${unbroken(nextWalkText(secondsToNextWalk))}`)}
${fact('Written', html`${records}`)}
${deadLetters(written.deadLetters, name)}
</dl>
${minuteChart(areChecks ? 'Checks a minute' : 'Events a minute', perMinute)}`;
}

function caughtUp({ caughtUp: is }: SourceStatus): Html {
  if (is === null) return html`not polled yet`;
  return is ? html`caught up` : html`<span class="badge wait">behind</span>`;
}

function cliff(seconds: number | null): Html | null {
  if (seconds === null) return null;
  const text = seconds < 0 ? 'events may be lost' : `unread events are kept for ${length(seconds)}`;
  const isNear = seconds < CLIFF_IS_NEAR_SECONDS;
  const bar = shareBar({
    title: 'Time to the retention cliff',
    text: `${text}, of 7 d`,
    share: seconds / RETENTION_SECONDS,
    look: isNear ? 'bad' : 'good',
  });
  return fact('Retention', html`${isNear ? html`<span class="badge bad">${text}</span>` : html`${text}`}${bar}`);
}

function walkText(walk: WalkStatus, now: string): Html {
  const { number, running, pages, rows, startedAt, completedAt, gone } = walk;
  const size = `${countText(rows)} rows in ${countText(pages)} pages`;
  if (!running && gone !== null) {
    // When a walk of the process before ended is not known.
    const when = completedAt === null ? `begun ${ago(startedAt, now)}` : `completed ${ago(completedAt, now)}`;
    return html`no. ${number}: ${size}, ${countText(gone)} gone, ${unbroken(when)}`;
  }
  return html`no. ${number} ${running ? 'running' : 'not running'}: ${size}, started ${unbroken(ago(startedAt, now))}${progress(walk)}`;
}

function progress({ rows, expectedRows }: WalkStatus): Html | null {
  if (expectedRows === null || expectedRows === 0) return null;
  const text = `${countText(rows)} of about ${countText(expectedRows)} rows`;
  return shareBar({ title: 'Progress of the walk', text, share: rows / expectedRows, look: 'plain' });
}

export function nextWalkText(seconds: number): string {
  return seconds > 0 ? `in ${durationText(seconds)}` : 'with the next response';
}
