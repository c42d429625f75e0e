import type { NotificationContent } from '../../avro/notification-encoder.ts';
import type { CoreNotification, WalkNotification } from '../walk/instruments-messages.ts';
import { followerNotification } from './follower-notification.ts';

type NotificationOf<Kind extends WalkNotification['kind']> = Extract<WalkNotification, { kind: Kind }>;

/** What a walk does for the instruments where the stream has lost events. */
const WORDS = {
  suspected:
    'The stream was not read for nearly as long as the provider keeps events. Whatever it still serves is taken, and a ' +
    'walk brings every instrument up to date.',
  proven: 'Events are lost for good; the state of every instrument is brought up to date by a walk.',
  expired: 'events of that time; instruments are healed by the walk that follows',
  lost: 'events between the two offsets; instruments are healed by the walk that follows',
  restart: 'The stream goes on from now, and a walk brings every instrument up to date.',
};

/** A notification of a source of instruments, as a record of the notifications topic; `at`: when the stream last answered. */
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
    case 'walkGivenUp':
      return { source, at, ...walkGivenUp(notification) };
    default:
      return followerNotification(source, notification, WORDS);
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
