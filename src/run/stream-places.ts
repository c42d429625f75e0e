import { type Settings, type SourceSettings, topicOf } from '../config/settings.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
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

/** Returns the topic of the source's stream, and the places that the source's records on this topic name. */
export async function streamPlaces(
  from: { readonly kafka: Pick<KafkaCluster, 'logReader'>; readonly settings: Settings; readonly signal: AbortSignal },
  source: SourceSettings,
  take: (place: StreamPlace) => void,
): Promise<string> {
  const { kafka, settings, signal } = from;
  const topic = topicOf(settings, kindOf(source).streamTopic(source));
  await kafka.logReader.readToEnd({
    topic,
    partitions: Array.from({ length: settings.topics.partitions }, (_, partition) => partition),
    onRecord({ headers, timestampMs }) {
      const { 'spc-source': writer, 'spc-since': since, 'spc-received': received = null } = headers;
      if (writer === source.name && since !== undefined && !(DEAD_LETTER_HEADER in headers))
        take({ since, received, timestampMs });
    },
    signal,
  });
  return topic;
}
