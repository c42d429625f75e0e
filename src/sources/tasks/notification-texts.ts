import { durationText as settingText } from '../../config/duration.ts';
import type { NotificationContent } from '../../records/avro/record-encoder.ts';
import type { FollowerNotification } from '../stream/follower-messages.ts';
import { RETENTION_MS } from '../stream/retention-gap.ts';
import type { CoreNotification, WalkFlaw, WalkNotification } from '../walk/instruments-messages.ts';
import { withMargin } from '../walk/sweep.ts';

const SIGNS = {
  refused: 'the provider refuses our offset but accepts a fresh offset',
  quiet: 'the provider returns no events for our offset, but the stream continues',
  lower: 'the provider names an offset that is lower than our offset',
  stuck: 'the provider repeats events and names no new offset',
  unmoved: 'our offset may have expired: it brought no events for days, so a newer offset replaced it',
  overtaken: 'a newer offset brings events, but our offset brings no events',
} as const;

export function followerNotification(
  source: string,
  notification: FollowerNotification,
  words: typeof INSTRUMENT_WORDS,
): NotificationContent {
  return { source, at: notification.to.dateMs, ...followerText(source, notification, words) };
}

function followerText(source: string, notification: FollowerNotification, words: typeof INSTRUMENT_WORDS) {
  const gapTo = notification.to.dateMs;
  switch (notification.kind) {
    case 'gapSuspected':
      return {
        kind: 'retention-gap-suspected',
        message: words.suspected,
        gapFrom: notification.fromMs,
        gapTo,
        gapSinceFrom: notification.since,
        why: `the provider last confirmed our offset ${Math.round(notification.ageMs / 3_600_000)} hours ago`,
      };
    case 'gapCertain': {
      const hours = Math.round(notification.silentMs / 3_600_000);
      return {
        kind: 'retention-gap',
        message: 'The stream was not read for more than seven days: older unread events are permanently lost.',
        gapFrom: notification.fromMs,
        gapTo: notification.toMs,
        gapSinceFrom: notification.since,
        why: `the stream was not read for ${hours} hours, and events are kept for ${RETENTION_MS / 3_600_000} hours`,
        lost: words.expired,
      };
    }
    case 'streamBehind': {
      const { since, endsAt, limitMs } = notification;
      return {
        kind: 'stream-behind',
        message:
          `The provider's stream ends at ${endsAt}, before our offset ${since}. Nothing is lost or repeated. The source ` +
          'continues when the provider serves our offset again. If this lasts for ' +
          `${settingText(limitMs)} in all (behindLimit), the source adopts the lower offset.`,
        gapSinceFrom: since,
        gapSinceTo: endsAt,
        why: SIGNS.lower,
      };
    }
    case 'offsetReset': {
      const { before, filter, goesOnAfter } = notification;
      const isOther = before.filter !== null && before.filter !== filter;
      const also = isOther ? ', and the source has another filter than before' : '';
      // `offsets set` refuses an older offset, because the provider no longer has the events after it.
      const isKept = before.dateMs === null || gapTo - before.dateMs <= RETENTION_MS;
      const goesBack = isKept && before.since && goesOnAfter;
      const again = goesBack ? ` spconnect offsets set ${source} --since ${before.since} goes back.` : '';
      return {
        kind: isOther ? 'filter-changed' : 'offset-reset',
        message: `The committed offset is gone: it was reset, or its topic was deleted${also}. ${words.restart}${again}`,
        gapFrom: before.dateMs,
        gapTo,
        gapSinceFrom: before.since,
        gapSinceTo: goesOnAfter,
        filterFrom: before.filter,
        filterTo: filter,
        why: 'no offset is committed, although the source had one',
        lost: words.lost,
      };
    }
    default: {
      const { kind, fromMs: gapFrom, lostAfter: gapSinceFrom, goesOnAfter: gapSinceTo } = notification;
      const given = { gapFrom, gapTo, gapSinceFrom, gapSinceTo, why: SIGNS[notification.why] };
      if (kind === 'gapProven') return { ...given, kind: 'retention-gap', message: words.proven, lost: words.lost };
      const message =
        `${SIGNS[notification.why].replace(/^./, (first) => first.toUpperCase())}. The source reads the stream from ${gapSinceTo} instead ` +
        `of ${gapSinceFrom}. Events between these offsets come again on the events topic. While they come again, only ` +
        'walks update the instruments, so no instrument returns to an earlier state.';
      return { ...given, kind: 'stream-reset', message, lost: 'nothing, unless the provider has begun a new stream' };
    }
  }
}

export const INSTRUMENT_WORDS = {
  suspected:
    'Our offset is more than six and a half days old, by our clock or that of the provider. Events are kept for seven ' +
    'days. The source reads all events that the provider still has, and a walk updates every instrument.',
  proven: 'Events are permanently lost; a walk updates the state of every instrument.',
  /** Names the lost items, if the stream was not read for more than seven days. */
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
  return { source, at, walk: notification.walk, ...walkText(source, notification) };
}

const DELETED_NOTHING = {
  resumed:
    ' It deleted nothing, because a restart or a lost writer had interrupted it, or an operator had moved the offset. ' +
    'Another walk follows.',
  repeats: ' It deleted nothing, because the stream repeats earlier events.',
};

function walkText(source: string, notification: WalkNotification) {
  const { walk } = notification;
  switch (notification.kind) {
    case 'walkCompleted': {
      const { added, corrected, unchanged, touched, gone, reEncoded, deadLetters: dead } = notification.counts;
      const how = notification.deletedNothing === null ? '' : DELETED_NOTHING[notification.deletedNothing];
      return {
        kind: 'walk-completed',
        message: `Walk ${walk} is complete: ${added} added, ${corrected} corrected, ${unchanged} unchanged, ${touched} touched, ${gone} gone.${how}`,
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
      const message =
        `Walk ${walk} deleted nothing, because ${why}. If you have not changed the filter, ask the provider. ` +
        `If this is correct, allow their deletion, and 5 % more for changes meanwhile: \`spconnect walk ${source} --allow-shrink ${withMargin(gone)}\`.`;
      return { kind: 'shrink-refused', message, gone, known, why };
    }
    case 'deletionSkipped': {
      const why = notification.flaws.map((flaw) => FLAWS[flaw]).join(', ');
      const message = `Walk ${walk} deleted nothing, because ${why}. The next walk decides again.`;
      return { kind: 'deletion-skipped', message, why };
    }
    case 'listLags': {
      const { lagMs, rows, lacking, nextMs, waitMs } = notification;
      return {
        kind: 'list-lags',
        message:
          `The instrument list of walk ${walk} seems at least ${durationText(lagMs)} older than the event stream. The walk ` +
          'did not use rows that contradict newer events, and deleted nothing. The next walk begins ' +
          `within ${durationText(nextMs)}, and waits ${durationText(waitMs)} before it reads the list. ` +
          'A change without an event also looks like a lag. A walk 90 minutes later corrects it. ' +
          'If the provider confirms the lag, set handoffMargin to at least this lag.',
        why:
          `Rows that contradict events of the 90 minutes before the walk: ${rows}. Instruments that were issued in that time and are ` +
          `missing from the list: ${lacking}${rows + lacking === 0 ? '; a page names an older offset of the stream' : ''}.`,
      };
    }
    case 'deletionsStandStill':
      return {
        kind: 'deletions-stand-still',
        message:
          `${notification.walks} consecutive walks could not determine which instruments are gone. Instruments that the ` +
          'provider has dropped stay on the topic. The notifications deletion-skipped and walk-completed give the reasons.',
      };
    case 'topicReplaced':
      return {
        kind: 'topic-replaced',
        message: `The instruments topic was deleted, created again or renamed. Walk ${walk} writes every instrument again.`,
      };
    case 'walkGivenUp': {
      const { why, waitMs } = notification;
      const message = `Walk ${walk} was given up. Another walk begins in ${durationText(waitMs)}, and the event stream continues.`;
      return { kind: 'walk-given-up', message, why };
    }
  }
}

const FLAWS: Readonly<Record<WalkFlaw, string>> = {
  unreadableId: 'an id could not be read',
  rowBelowCursor: 'a row had an id below the cursor',
  rowsBehindTheEnd: 'the list had rows after its last page',
  listLags: 'the list lags behind the event stream',
};

function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  return seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`;
}
