import { type Settings, type SourceSettings, topicOf } from '../config/settings.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { TopicSpecification } from '../kafka/topic.ts';
import { kindOf } from '../sources/kinds/all.ts';

/** A header of the record of a retried dead letter: the record is new, but its place is the old place of its input. */
export const DEAD_LETTER_HEADER = 'spc-dead-letter';

/** A place in the stream of a source. A record names the place of the request that got its item. */
export interface StreamPlace {
  readonly since: string;
  /** The provider's time of this request, ISO 8601; null if unknown. */
  readonly received: string | null;
  /** When the record was written, by the broker's clock, in milliseconds. */
  readonly timestampMs: number;
}

/**
 * Reads the places that the source's records on a topic name, and keeps one. `isBetter` compares two. The default topic
 * is that of the source's stream. On the topic of notifications, the records name the places before gaps and resets.
 */
export async function placeOnTopic(
  from: { readonly kafka: Pick<KafkaCluster, 'logReader'>; readonly settings: Settings; readonly signal: AbortSignal },
  source: SourceSettings,
  isBetter: (place: StreamPlace, kept: StreamPlace | null) => boolean,
  on?: Pick<TopicSpecification, 'name' | 'partitions'>,
): Promise<{ readonly topic: string; readonly place: StreamPlace | null }> {
  const { kafka, settings, signal } = from;
  const stream = {
    name: topicOf(settings, kindOf(source).streamTopic(source)),
    partitions: settings.topics.partitions,
  };
  const { name: topic, partitions } = on ?? stream;
  const found: { place: StreamPlace | null } = { place: null };
  await kafka.logReader.readToEnd({
    topic,
    partitions: Array.from({ length: partitions }, (_, partition) => partition),
    onRecord({ headers, timestampMs }) {
      const { 'spc-source': writer, 'spc-since': since, 'spc-received': received = null } = headers;
      if (writer !== source.name || since === undefined || DEAD_LETTER_HEADER in headers) return;
      const place = { since, received, timestampMs };
      if (isBetter(place, found.place)) found.place = place;
    },
    signal,
  });
  return { topic, ...found };
}
