import type { NotificationContent } from '../../avro/notification-encoder.ts';
import type { FollowerNotification } from '../stream/follower-messages.ts';
import { ageText, gapCertain, offsetReset, SIGNS } from './notification-content.ts';

/** How a notification speaks of what a stream carries. */
export interface FollowerWords {
  readonly suspected: string;
  readonly proven: string;
  /** What is lost of a time that is longer ago than the provider keeps anything. */
  readonly expired: string;
  readonly lost: string;
  /** How a source goes on after its offset was reset. */
  readonly restart: string;
}

/** A notification of a source that follows one stream, as a record of the notifications topic. */
export function followerNotification(
  source: string,
  notification: FollowerNotification,
  words: FollowerWords,
): NotificationContent {
  if (notification.kind === 'offsetReset') return { source, ...offsetReset(notification, words) };
  if (notification.kind === 'gapCertain') {
    return { source, at: notification.to.dateMs, ...gapCertain(notification, words.expired) };
  }
  const { kind, fromMs, to } = notification;
  const gap = { source, at: to.dateMs, gapFrom: fromMs, gapTo: to.dateMs };
  if (kind === 'gapSuspected') {
    return {
      ...gap,
      kind: 'retention-gap-suspected',
      message: words.suspected,
      gapSinceFrom: notification.since,
      why: ageText(notification.ageMs),
    };
  }
  return {
    ...gap,
    kind: kind === 'gapProven' ? 'retention-gap' : 'stream-reset',
    message: words.proven,
    gapSinceFrom: notification.lostAfter,
    gapSinceTo: notification.goesOnAfter,
    why: SIGNS[notification.why],
    lost: words.lost,
  };
}
