import type { NotificationContent } from '../../records/avro/record-encoder.ts';
import type { FollowerNotification } from '../stream/follower-messages.ts';
import { RETENTION_MS } from '../stream/retention-gap.ts';
import type { CoreNotification } from '../walk/instruments-messages.ts';

type NotificationOf<Kind extends CoreNotification['kind']> = Extract<CoreNotification, { kind: Kind }>;

export interface FollowerWords {
  readonly suspected: string;
  readonly proven: string;
  /** Lost of the time beyond the retention. */
  readonly expired: string;
  readonly lost: string;
  readonly restart: string;
}

const SIGNS = {
  refused: 'the provider refuses our offset but takes a fresh one',
  quiet: 'the provider answers our offset with nothing while the stream goes on',
  lower: 'the provider offers a lower offset than ours',
  stuck: 'the provider repeats events without moving on',
  unmoved: 'our offset may have expired, and was answered with nothing until a newer one took its place',
  overtaken: 'a newer offset is answered with events while ours is answered with nothing',
} as const;

export function followerNotification(
  source: string,
  notification: FollowerNotification,
  words: FollowerWords,
): NotificationContent {
  if (notification.kind === 'offsetReset') return { source, ...offsetReset(notification, words) };
  if (notification.kind === 'gapCertain') {
    return { source, at: notification.to.dateMs, ...gapCertain(notification, words.expired) };
  }
  if (notification.kind === 'streamBehind') return { source, ...streamBehind(notification) };
  const { kind, fromMs, to } = notification;
  const gap = { source, at: to.dateMs, gapFrom: fromMs, gapTo: to.dateMs };
  if (kind === 'gapSuspected') {
    return {
      ...gap,
      kind: 'retention-gap-suspected',
      message: words.suspected,
      gapSinceFrom: notification.since,
      why: `our offset was last known to be served ${Math.round(notification.ageMs / 3_600_000)} hours ago`,
    };
  }
  const { lostAfter: gapSinceFrom, goesOnAfter: gapSinceTo } = notification;
  const proven = { ...gap, gapSinceFrom, gapSinceTo, why: SIGNS[notification.why] };
  if (kind === 'gapProven') return { ...proven, kind: 'retention-gap', message: words.proven, lost: words.lost };
  const message =
    `The provider stayed behind us. Its stream is read from ${gapSinceTo} on, in place of ${gapSinceFrom}. Events between ` +
    'the two come again on the topic of events. Until they have passed, walks keep the instruments, and none goes back.';
  return {
    ...proven,
    message,
    kind: 'stream-reset',
    lost: 'nothing, unless the stream itself has begun again',
  };
}

function streamBehind({ to, since, endsAt, limitMs }: NotificationOf<'streamBehind'>) {
  const minutes = Math.round(limitMs / 60_000);
  return {
    kind: 'stream-behind',
    at: to.dateMs,
    message:
      `The provider is behind us by the events from ${endsAt} to ${since}: its stream ends before our offset. Nothing is ` +
      `lost or repeated. Once our offset is answered again, all goes on; after ${minutes} minutes the lower offset is adopted.`,
    gapSinceFrom: since,
    gapSinceTo: endsAt,
    why: SIGNS.lower,
  };
}

function gapCertain({ fromMs, toMs, silentMs, since }: NotificationOf<'gapCertain'>, lost: string) {
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

function offsetReset(
  { before, filter, to, goesOnAfter }: NotificationOf<'offsetReset'>,
  { restart, lost }: FollowerWords,
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

const INSTRUMENT_WORDS = {
  suspected:
    'The stream was not read for nearly as long as the provider keeps events. Whatever it still serves is taken, and a ' +
    'walk brings every instrument up to date.',
  proven: 'Events are lost for good; the state of every instrument is brought up to date by a walk.',
  expired: 'events of that time; instruments are healed by the walk that follows',
  lost: 'events between the two offsets; instruments are healed by the walk that follows',
  restart: 'The stream goes on from now, and a walk brings every instrument up to date.',
};

export function instrumentsNotification(
  source: string,
  notification: CoreNotification,
  at: number,
): NotificationContent {
  switch (notification.kind) {
    case 'walkCompleted':
      return { source, at, ...walkCompleted(notification) };
    case 'shrinkRefused':
      return { source, at, ...shrinkRefused(notification) };
    case 'deletionSkipped':
      return { source, at, ...deletionSkipped(notification) };
    case 'listLags':
      return { source, at, ...listLags(notification) };
    case 'deletionsStandStill':
      return { source, at, ...deletionsStandStill(notification) };
    case 'topicReplaced':
      return { source, at, ...topicReplaced(notification) };
    case 'walkGivenUp':
      return { source, at, ...walkGivenUp(notification) };
    default:
      return followerNotification(source, notification, INSTRUMENT_WORDS);
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
      `The instrument list of walk ${walk} seems at least ${lag} older than the event stream. The walk did not use rows ` +
      `that an event had overtaken, and deleted nothing. The next walk waits ${durationText(waitMs)} for the list. An ` +
      'instrument that changed, or was issued and dropped, without a last event looks the same. If the provider ' +
      'confirms the lag, set handoffMargin to at least as much.',
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

function topicReplaced({ walk }: NotificationOf<'topicReplaced'>) {
  return {
    kind: 'topic-replaced',
    message: `The instruments topic was deleted, created again or renamed. Walk ${walk} brings every instrument to it.`,
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
