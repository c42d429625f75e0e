import type { ConnectorError } from '../errors.ts';
import type { KafkaCluster } from '../kafka/cluster.ts';
import type { TopicReport, TopicSpecification } from '../kafka/topic.ts';
import { untilAborted } from '../support/until-aborted.ts';

/**
 * The results of the last verification of the topics. A topic that fails the verification is *refused*: it stops only
 * the sources and prices that need this topic. Before these sources or prices start again, the topic is verified again.
 */
export type VerifiedTopics = ReturnType<typeof createVerifiedTopics>;

export function createVerifiedTopics(
  report: TopicReport,
  options: {
    readonly kafka: Pick<KafkaCluster, 'ensureTopics'>;
    readonly create: boolean;
    readonly onReport: (report: TopicReport) => void;
  },
) {
  const { kafka, create, onReport } = options;
  const refused = new Map(report.refused);
  const limits = new Map(report.maxMessageBytes);
  return {
    refused: () => [...refused.keys()],
    areVerified: (topics: readonly TopicSpecification[]) => topics.every(({ name }) => !refused.has(name)),
    /** Marks replaced topics as refused. Then `verify` verifies these topics again. */
    doubt(topics: readonly string[], why: ConnectorError): void {
      for (const name of topics) refused.set(name, why);
    },
    /** Verifies the refused topics among `topics`; with `create`, creates absent topics. @throws as `ensureTopics`. */
    async verify(topics: readonly TopicSpecification[], signal: AbortSignal): Promise<void> {
      const waiting = topics.filter(({ name }) => refused.has(name));
      if (waiting.length === 0) return;
      const found = await untilAborted(kafka.ensureTopics(waiting, { create }), signal);
      onReport(found);
      for (const [name, bytes] of found.maxMessageBytes) {
        limits.set(name, bytes);
        refused.delete(name);
      }
    },
    /** The largest record batch that a verified topic accepts, in bytes. */
    maxMessageBytes({ name }: TopicSpecification): number {
      const bytes = limits.get(name);
      if (bytes === undefined) throw new TypeError(`Topic ${name} was not verified.`);
      return bytes;
    },
  };
}
