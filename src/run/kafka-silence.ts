import { KAFKA_IS_SILENT_SECONDS } from '../admin/status/readiness.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { Events } from '../observe/events.ts';
import type { Clock } from '../support/clock.ts';

const LOOK_EVERY_MS = 1_000;

/** Reports once when Kafka has been silent for as long as the status allows, and once when Kafka answers again. */
export async function watchKafka(
  { answeredMs }: Pick<KafkaCluster, 'answeredMs'>,
  events: Pick<Events, 'kafkaSilent' | 'kafkaAnswers'>,
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
  signal: AbortSignal,
): Promise<void> {
  const startedMs = clock.monotonicMs();
  let silentFromMs: number | null = null;
  while (!signal.aborted) {
    const [nowMs, lastMs] = [clock.monotonicMs(), answeredMs() ?? startedMs];
    const isSilent = nowMs - lastMs >= KAFKA_IS_SILENT_SECONDS * 1_000;
    if (isSilent && silentFromMs === null) events.kafkaSilent({ silentMs: nowMs - lastMs });
    if (!isSilent && silentFromMs !== null) events.kafkaAnswers({ silentMs: nowMs - silentFromMs });
    silentFromMs = isSilent ? lastMs : null;
    await clock.sleep(LOOK_EVERY_MS, signal).catch(() => {});
  }
}
