import type { NotificationContent } from '../../avro/notification-encoder.ts';
import type { FollowerNotification } from '../stream/follower-messages.ts';
import { RETENTION_MS } from '../stream/retention-gap.ts';

type NotificationOf<Kind extends FollowerNotification['kind']> = Extract<FollowerNotification, { kind: Kind }>;

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

/** Why a gap was suspected or proven, for people. */
const SIGNS = {
  refused: 'the provider refuses our offset but takes a fresh one',
  quiet: 'the provider answers our offset with nothing while the stream goes on',
  lower: 'the provider offers a lower offset than ours',
  stuck: 'the provider repeats events without moving on',
  unmoved: 'our offset may have expired, and was answered with nothing until a newer one took its place',
  overtaken: 'a newer offset is answered with events while ours is answered with nothing',
} as const;

/** What a stream notifies of, as a record of the notifications topic. */
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
      why: `our offset was last known to be served ${Math.round(notification.ageMs / 3_600_000)} hours ago`,
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

/** What no provider can serve any more; `lost` speaks of what the stream carries. */
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

/** The first transaction after a reset of the committed offset; `restart` and `lost` describe it for this kind of stream. */
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
