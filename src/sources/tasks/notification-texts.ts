import type { NotificationContent } from '../../records/avro/record-encoder.ts';
import type { FollowerNotification } from '../stream/follower-messages.ts';
import { RETENTION_MS } from '../stream/retention-gap.ts';
import type { CoreNotification, WalkFlaw, WalkNotification } from '../walk/instruments-messages.ts';

export interface FollowerWords {
  readonly suspected: string;
  readonly proven: string;
  /** The lost items of a period that is older than the retention. */
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
  return { source, at: notification.to.dateMs, ...followerText(notification, words) };
}

function followerText(notification: FollowerNotification, words: FollowerWords) {
  const gapTo = notification.to.dateMs;
  switch (notification.kind) {
    case 'gapSuspected':
      return {
        kind: 'retention-gap-suspected',
        message: words.suspected,
        gapFrom: notification.fromMs,
        gapTo,
        gapSinceFrom: notification.since,
        why: `our offset was last known to be served ${Math.round(notification.ageMs / 3_600_000)} hours ago`,
      };
    case 'gapCertain': {
      const hours = Math.round(notification.silentMs / 3_600_000);
      return {
        kind: 'retention-gap',
        message:
          'The stream was not read for longer than the provider keeps events. Earlier events are permanently lost.',
        gapFrom: notification.fromMs,
        gapTo: notification.toMs,
        gapSinceFrom: notification.since,
        why: `the stream was not read for ${hours} hours, and ${RETENTION_MS / 3_600_000} are kept`,
        lost: words.expired,
      };
    }
    case 'streamBehind': {
      const { since, endsAt, limitMs } = notification;
      return {
        kind: 'stream-behind',
        message:
          `The provider is behind us by the events from ${endsAt} to ${since}: its stream ends before our offset. Nothing ` +
          'is lost or repeated. When our offset is answered again, the source continues; after ' +
          `${Math.round(limitMs / 60_000)} minutes it adopts the lower offset.`,
        gapSinceFrom: since,
        gapSinceTo: endsAt,
        why: SIGNS.lower,
      };
    }
    case 'offsetReset': {
      const { before, filter, goesOnAfter } = notification;
      const isOther = before.filter !== null && before.filter !== filter;
      const why = 'the committed offset was reset';
      const also = isOther ? ', and the source has another filter than before' : '';
      return {
        kind: isOther ? 'filter-changed' : 'offset-reset',
        message: `The committed offset was reset${also}. ${words.restart}`,
        gapFrom: before.dateMs,
        gapTo,
        gapSinceFrom: before.since,
        gapSinceTo: goesOnAfter,
        filterFrom: before.filter,
        filterTo: filter,
        why,
        lost: words.lost,
      };
    }
    default: {
      const { kind, fromMs: gapFrom, lostAfter: gapSinceFrom, goesOnAfter: gapSinceTo } = notification;
      const given = { gapFrom, gapTo, gapSinceFrom, gapSinceTo, why: SIGNS[notification.why] };
      if (kind === 'gapProven') return { ...given, kind: 'retention-gap', message: words.proven, lost: words.lost };
      const message =
        `The provider stayed behind us. Its stream is read from ${gapSinceTo} on, in place of ${gapSinceFrom}. Events ` +
        'between the two come again on the topic of events. Until they have passed, walks keep the instruments, and none ' +
        'goes back.';
      return { ...given, kind: 'stream-reset', message, lost: 'nothing, unless the stream itself has begun again' };
    }
  }
}

const INSTRUMENT_WORDS = {
  suspected:
    'The stream was not read for nearly as long as the provider keeps events. All events that it still serves are ' +
    'read, and a walk updates every instrument.',
  proven: 'Events are permanently lost; a walk updates the state of every instrument.',
  expired: 'events of that time; the next walk corrects the instruments',
  lost: 'events between the two offsets; the next walk corrects the instruments',
  restart: 'The stream continues from now, and a walk updates every instrument.',
};

export function instrumentsNotification(
  source: string,
  notification: CoreNotification,
  at: number,
): NotificationContent {
  if (!('walk' in notification)) return followerNotification(source, notification, INSTRUMENT_WORDS);
  return { source, at, walk: notification.walk, ...walkText(notification) };
}

function walkText(notification: WalkNotification) {
  const { walk } = notification;
  switch (notification.kind) {
    case 'walkCompleted': {
      const { added, corrected, unchanged, gone, reEncoded, deadLetters: dead } = notification.counts;
      const how = notification.resumed ? ' It was resumed after a restart, so it deleted nothing.' : '';
      return {
        kind: 'walk-completed',
        message: `Walk ${walk} is complete: ${added} added, ${corrected} corrected, ${unchanged} unchanged, ${gone} gone.${how}`,
        walkStartedAt: notification.startedAtMs,
        added,
        corrected,
        unchanged,
        gone,
        reEncoded,
        dead,
      };
    }
    case 'shrinkRefused': {
      const { gone, held: known } = notification;
      const isEmpty = notification.why === 'emptyList';
      const why = isEmpty ? 'the list was empty' : `${gone} of ${known} instruments are no longer in the list`;
      const message = `Walk ${walk} deleted nothing, since ${why}. Ask the provider whether that is right.`;
      return { kind: 'shrink-refused', message, gone, known, why };
    }
    case 'deletionSkipped': {
      const why = notification.flaws.map((flaw) => FLAWS[flaw]).join(', ');
      const message = `Walk ${walk} deleted nothing, since ${why}; the next walk decides again.`;
      return { kind: 'deletion-skipped', message, why };
    }
    case 'listLags': {
      const { lagMs, rows, lacking, waitMs } = notification;
      return {
        kind: 'list-lags',
        message:
          `The instrument list of walk ${walk} seems at least ${durationText(lagMs)} older than the event stream. The walk ` +
          'did not use rows that an event had overtaken, and deleted nothing. The next walk waits ' +
          `${durationText(waitMs)} for the list. An instrument that changed, or was issued and dropped, without a last ` +
          'event looks the same. If the provider confirms the lag, set handoffMargin to at least as much.',
        why:
          `${rows} rows differ from what events said within the hour before the walk, and ${lacking} instruments that were ` +
          `issued in that hour are missing from the list${rows + lacking === 0 ? '; a page names an older place in the stream' : ''}.`,
      };
    }
    case 'deletionsStandStill':
      return {
        kind: 'deletions-stand-still',
        message:
          `${notification.walks} walks in a row could not decide which instruments are gone; those that the provider has ` +
          'dropped stay on the topic. The notifications deletion-skipped say why; a walk that a restart interrupted ' +
          'cannot decide either.',
      };
    case 'topicReplaced':
      return {
        kind: 'topic-replaced',
        message: `The instruments topic was deleted, created again or renamed. Walk ${walk} brings every instrument to it.`,
      };
    case 'walkGivenUp': {
      const { why, waitMs } = notification;
      const message = `Walk ${walk} was given up. Another one begins in ${durationText(waitMs)}, and the event stream goes on.`;
      return { kind: 'walk-given-up', message, why };
    }
  }
}

const FLAWS: Readonly<Record<WalkFlaw, string>> = {
  unreadableId: 'an id could not be read',
  rowBelowCursor: 'a row stood below the cursor',
  rowsBehindTheEnd: 'rows lay behind the end of the list',
  listLags: 'the list lags the event stream',
};

function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}
