import type { NotificationContent } from '../../avro/notification-encoder.ts';
import { type ConnectorError, remedyOf } from '../../errors.ts';
import type { FollowerNotification } from '../stream/follower-messages.ts';
import { RETENTION_MS } from '../stream/retention-gap.ts';
import type { CoreNotification } from '../walk/instruments-messages.ts';
import type { InstrumentsOffset } from '../walk/instruments-offset.ts';

type NotificationOf<Kind extends CoreNotification['kind']> = Extract<CoreNotification, { kind: Kind }>;

/** Why a gap was suspected or proven, for people. */
export const SIGNS = {
  refused: 'the provider refuses our offset but takes a fresh one',
  quiet: 'the provider answers our offset with nothing while the stream goes on',
  lower: 'the provider offers a lower offset than ours',
  stuck: 'the provider repeats events without moving on',
  unmoved: 'our offset may have expired, and was answered with nothing until a newer one took its place',
  overtaken: 'a newer offset is answered with events while ours is answered with nothing',
} as const;

/** Why a gap is suspected, for people. */
export function ageText(ageMs: number): string {
  return `our offset was last known to be served ${Math.round(ageMs / 3_600_000)} hours ago`;
}

const RESET_WORDS = {
  healed: 'events of that time; instruments are healed by the walk that follows',
  restart: 'The stream goes on from now, and a walk brings every instrument up to date.',
  lost: 'events between the two offsets; instruments are healed by the walk that follows',
};

/** A notification of a decision, as a record of the notifications topic. */
export function notificationContent(
  source: string,
  notification: CoreNotification,
  offset: InstrumentsOffset,
): NotificationContent {
  const at = offset.serverDate.dateMs;
  switch (notification.kind) {
    case 'walkCompleted':
      return { source, at, ...walkCompleted(notification) };
    case 'gapSuspected':
      return { source, at, ...gapSuspected(notification) };
    case 'gapCertain':
      return { source, at, ...gapCertain(notification, RESET_WORDS.healed) };
    case 'gapProven':
    case 'streamReset':
      return { source, at, ...gapProven(notification) };
    case 'offsetReset':
      return { source, ...offsetReset(notification, RESET_WORDS) };
    case 'shrinkRefused':
      return { source, at, ...shrinkRefused(notification) };
    case 'deletionSkipped':
      return { source, at, ...deletionSkipped(notification) };
    case 'listLags':
      return { source, at, ...listLags(notification) };
    case 'deletionsStandStill':
      return { source, at, ...deletionsStandStill(notification) };
    case 'walkGivenUp':
      return { source, at, ...walkGivenUp(notification) };
  }
}

function walkCompleted({ walk, startedAtMs, resumed, counts }: NotificationOf<'walkCompleted'>) {
  const { added, corrected, unchanged, gone, reEncoded, deadLetters: dead } = counts;
  const how = resumed ? ' It was resumed after a restart, so it deleted nothing.' : '';
  return {
    kind: 'walk-completed',
    message: `Walk ${walk} is complete: ${added} added, ${corrected} corrected, ${unchanged} unchanged, ${gone} gone.${how}`,
    walk,
    walkStartedAt: startedAtMs,
    added,
    corrected,
    unchanged,
    gone,
    reEncoded,
    dead,
  };
}

function gapSuspected({ fromMs, to, since, ageMs }: NotificationOf<'gapSuspected'>) {
  return {
    kind: 'retention-gap-suspected',
    message:
      'The stream was not read for nearly as long as the provider keeps events. Whatever it still serves is taken, and a ' +
      'walk brings every instrument up to date.',
    gapFrom: fromMs,
    gapTo: to.dateMs,
    gapSinceFrom: since,
    why: ageText(ageMs),
  };
}

/** What no provider can serve any more; `lost` speaks of what the stream carries. */
export function gapCertain(
  { fromMs, toMs, silentMs, since }: Extract<FollowerNotification, { kind: 'gapCertain' }>,
  lost: string,
) {
  const hours = Math.round(silentMs / 3_600_000);
  return {
    kind: 'retention-gap',
    message: 'The stream was not read for longer than the provider keeps events. What came before is lost for good.',
    gapFrom: fromMs,
    gapTo: toMs,
    gapSinceFrom: since,
    why: `the stream was not read for ${hours} hours, and ${RETENTION_MS / 3_600_000} are kept`,
    lost,
  };
}

function gapProven(gap: NotificationOf<'gapProven' | 'streamReset'>) {
  return {
    kind: gap.kind === 'gapProven' ? 'retention-gap' : 'stream-reset',
    message: 'Events are lost for good; the state of every instrument is brought up to date by a walk.',
    gapFrom: gap.fromMs,
    gapTo: gap.to.dateMs,
    gapSinceFrom: gap.lostAfter,
    gapSinceTo: gap.goesOnAfter,
    why: SIGNS[gap.why],
    lost: 'events between the two offsets; instruments are healed by the walk that follows',
  };
}

/** A source that has stopped for good, by our own clock: the provider's says nothing about it. */
export function sourceFailed(source: string, error: ConnectorError, at: number): NotificationContent {
  return {
    source,
    kind: 'source-failed',
    at,
    message: `The source has stopped, and keeps its place. ${error.message}`,
    why: `${remedyOf(error, source)} The time is that of the connector's own clock.`,
    errorCode: error.code,
  };
}

/** The first transaction after a reset of the committed offset; `restart` and `lost` describe it for this kind of stream. */
export function offsetReset(
  { before, filter, to, goesOnAfter }: Extract<FollowerNotification, { kind: 'offsetReset' }>,
  { restart, lost }: { readonly restart: string; readonly lost: string },
) {
  const isOther = before.filter !== null && before.filter !== filter;
  const why = 'the committed offset was reset';
  const also = isOther ? ', and the source has another filter than before' : '';
  return {
    kind: isOther ? 'filter-changed' : 'offset-reset',
    at: to.dateMs,
    message: `The committed offset was reset${also}. ${restart}`,
    gapFrom: before.dateMs,
    gapTo: to.dateMs,
    gapSinceFrom: before.since,
    gapSinceTo: goesOnAfter,
    filterFrom: before.filter,
    filterTo: filter,
    why,
    lost,
  };
}

function shrinkRefused({ walk, why, gone, held }: NotificationOf<'shrinkRefused'>) {
  const reason =
    why === 'emptyList' ? 'the list was empty' : `${gone} of ${held} instruments are no longer in the list`;
  return {
    kind: 'shrink-refused',
    message: `Walk ${walk} deleted nothing, since ${reason}. Ask the provider whether that is right.`,
    walk,
    gone,
    known: held,
    why: reason,
  };
}

function listLags({ walk, lagMs, rows, lacking, waitMs }: NotificationOf<'listLags'>) {
  const lag = durationText(lagMs);
  return {
    kind: 'list-lags',
    message:
      `The instrument list of walk ${walk} was at least ${lag} older than the event stream. Rows that an event had ` +
      `overtaken were not used and nothing was deleted. The next walk waits ${durationText(waitMs)} for the list; if the ` +
      'provider confirms the lag, set handoffMargin to at least as much.',
    walk,
    why:
      `${rows} rows differ from what events said within the hour before the walk, and ${lacking} instruments that were ` +
      `issued in that hour are missing from the list${rows + lacking === 0 ? '; a page names an older place in the stream' : ''}.`,
  };
}

function deletionsStandStill({ walk, walks }: NotificationOf<'deletionsStandStill'>) {
  return {
    kind: 'deletions-stand-still',
    message:
      `${walks} walks in a row could not decide which instruments are gone; those that the provider has dropped stay on the ` +
      'topic. The notifications deletion-skipped say why; a walk that a restart interrupted cannot decide either.',
    walk,
  };
}

function walkGivenUp({ walk, why, waitMs }: NotificationOf<'walkGivenUp'>) {
  return {
    kind: 'walk-given-up',
    message: `Walk ${walk} was given up. Another one begins in ${durationText(waitMs)}, and the event stream goes on.`,
    walk,
    why,
  };
}

function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}

function deletionSkipped({ walk, flaws }: NotificationOf<'deletionSkipped'>) {
  const reasons = {
    unreadableId: 'an id could not be read',
    rowBelowCursor: 'a row stood below the cursor',
    rowsBehindTheEnd: 'rows lay behind the end of the list',
    streamNotDrained: 'the stream could not be drained',
    listLags: 'the list lags the event stream',
  };
  const why = flaws.map((flaw) => reasons[flaw]).join(', ');
  return {
    kind: 'deletion-skipped',
    message: `Walk ${walk} deleted nothing, since ${why}; the next walk decides again.`,
    walk,
    why,
  };
}
