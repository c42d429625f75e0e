import type { Admin, Kafka } from 'kafkajs';
import { ConnectorError } from '../errors.ts';
import type { Clock } from '../support/clock.ts';
import { isUnanswered, kafkaReason } from './kafkajs-errors.ts';
import type { TopicReport, TopicSpecification } from './topic.ts';
import { compareTopic, type FoundTopic } from './topic-comparison.ts';
import { type KafkaTuning, kafkajsRetry } from './tuning.ts';

type Kafkajs = typeof import('kafkajs');

export interface TopicAdminOptions {
  readonly kafkajs: Kafkajs;
  readonly kafka: Kafka;
  /** As the settings have them. */
  readonly brokers: readonly string[];
  readonly tuning: KafkaTuning;
  readonly clock: Clock;
}

const LEADER_POLL_MS = 50;

/** Creates and verifies topics as `KafkaCluster.ensureTopics` promises. */
export async function ensureTopics(
  options: TopicAdminOptions,
  topics: readonly TopicSpecification[],
  { create }: { readonly create: boolean },
): Promise<TopicReport> {
  const admin = options.kafka.admin({ retry: kafkajsRetry(options.tuning) });
  try {
    await admin.connect();
    const present = new Set(await admin.listTopics());
    const missing = topics.filter(({ name }) => !present.has(name));
    if (missing.length > 0 && !create) throw topicsMissing(missing);
    const created = missing.length > 0 ? await createMissing(admin, missing, options.tuning.topicsTimeoutMs) : [];
    const found = await describe(options, admin, topics);
    const warnings = topics.flatMap((topic) => compareTopic(topic, foundOf(found, topic.name)));
    const maxMessageBytes = new Map(topics.map(({ name }) => [name, limitOf(foundOf(found, name).settings)]));
    return { created, warnings, maxMessageBytes };
  } catch (cause) {
    if (cause instanceof ConnectorError) throw cause;
    const brokers = options.brokers.join(', ');
    const what = isUnanswered(cause)
      ? `Kafka does not answer at ${brokers}`
      : `The topics could not be created or verified at ${brokers}`;
    const text = `${what} (${kafkaReason(cause)}). The address is set by kafka.brokers (KAFKA_BROKERS).`;
    throw new ConnectorError('KAFKA_UNREACHABLE', text, { cause });
  } finally {
    admin.disconnect().catch(() => {});
  }
}

/** What `TopicFacts` asks of the brokers; it lets their errors through. */
export async function askAboutTopics<Answer>(
  { kafka, tuning }: Pick<TopicAdminOptions, 'kafka' | 'tuning'>,
  ask: (admin: Admin) => Promise<Answer>,
): Promise<Answer> {
  const admin = kafka.admin({ retry: kafkajsRetry(tuning) });
  try {
    await admin.connect();
    return await ask(admin);
  } finally {
    admin.disconnect().catch(() => {});
  }
}

export async function fetchMaxMessageBytes(
  options: Pick<TopicAdminOptions, 'kafka' | 'kafkajs' | 'tuning'>,
  topics: readonly string[],
): Promise<TopicReport['maxMessageBytes']> {
  const resources = topics.map((name) => ({ type: options.kafkajs.ConfigResourceTypes.TOPIC, name }));
  const configs = await askAboutTopics(options, (admin) =>
    admin.describeConfigs({ resources, includeSynonyms: false }),
  );
  return new Map(
    configs.resources.map(({ resourceName, configEntries }) => {
      return [resourceName, limitOf(new Map(configEntries.map((entry) => [entry.configName, entry.configValue])))];
    }),
  );
}

function limitOf(settings: FoundTopic['settings']): number {
  return Number(settings.get('max.message.bytes'));
}

/** One by one: for several at once kafkajs does not tell which of them were there already. */
async function createMissing(admin: Admin, missing: readonly TopicSpecification[], timeout: number): Promise<string[]> {
  const created: string[] = [];
  for (const { name, partitions, replicationFactor, settings } of missing) {
    const configEntries = Object.entries(settings).map(([setting, value]) => ({ name: setting, value }));
    const topic = { topic: name, numPartitions: partitions, replicationFactor, configEntries };
    try {
      // False: another process created it a moment ago; it is verified like any other.
      if (await admin.createTopics({ topics: [topic], timeout, waitForLeaders: false })) created.push(name);
    } catch (error) {
      const refusals = hiddenErrors(error);
      if (refusals.length === 0) throw error;
      const reasons = refusals.map((refusal) => kafkaReason(refusal)).join('; ');
      throw new ConnectorError(
        'TOPIC_MISSING',
        `Kafka refused to create topic ${name} (${reasons}). Mend what it names (often topics.replicationFactor above the ` +
          'number of brokers, or missing rights), or create the topic yourself.',
        { cause: error, fields: { topic: name } },
      );
    }
  }
  return created;
}

/** kafkajs hides why a topic was refused in `errors`, one level down or behind a cause. */
function hiddenErrors(error: unknown): unknown[] {
  if (!(error instanceof Error)) return [];
  return 'errors' in error && Array.isArray(error.errors) ? error.errors : hiddenErrors(error.cause);
}

/** Partitions, replicas and settings of every topic, once each partition has a leader. */
async function describe(
  { kafkajs, tuning, clock }: TopicAdminOptions,
  admin: Admin,
  topics: readonly TopicSpecification[],
): Promise<ReadonlyMap<string, FoundTopic>> {
  const names = new Set(topics.map(({ name }) => name));
  const deadlineAtMs = clock.monotonicMs() + tuning.topicsTimeoutMs;
  for (;;) {
    // All topics are asked for, because asking for one that this broker does not know yet costs seconds of retries.
    const { topics: metadata } = await admin.fetchTopicMetadata();
    const ready = metadata.filter(
      ({ name, partitions }) =>
        names.has(name) && partitions.length > 0 && partitions.every(({ leader }) => leader >= 0),
    );
    if (ready.length === names.size) {
      const resources = [...names].map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name }));
      const configs = await admin.describeConfigs({ resources, includeSynonyms: false });
      return new Map(
        ready.map(({ name, partitions }) => {
          const entries = configs.resources.find(({ resourceName }) => resourceName === name)?.configEntries ?? [];
          const settings = new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
          return [name, { partitions: partitions.length, replicas: partitions[0]?.replicas.length ?? 0, settings }];
        }),
      );
    }
    if (clock.monotonicMs() >= deadlineAtMs) {
      const waiting = [...names].filter((name) => !ready.some((topic) => topic.name === name)).join(', ');
      throw new Error(`no leader for every partition of ${waiting} within ${tuning.topicsTimeoutMs} ms`);
    }
    await clock.sleep(LEADER_POLL_MS);
  }
}

function foundOf(found: ReadonlyMap<string, FoundTopic>, name: string): FoundTopic {
  const topic = found.get(name);
  if (topic === undefined) throw new Error(`topic ${name} vanished while it was verified`);
  return topic;
}

function topicsMissing(missing: readonly TopicSpecification[]): ConnectorError {
  const commands = missing.map(
    ({ name, partitions, replicationFactor, settings }) =>
      `kafka-topics.sh --create --topic ${name} --partitions ${partitions} --replication-factor ${replicationFactor}` +
      Object.entries(settings)
        .map(([setting, value]) => ` --config ${setting}=${value}`)
        .join(''),
  );
  return new ConnectorError(
    'TOPIC_MISSING',
    `${missing.map(({ name }) => name).join(', ')}: missing. Let \`spconnect topics create\` create what is missing, or the ` +
      `connector at its start (topics.create: true), or do it yourself:\n${commands.join('\n')}`,
    { fields: { topics: missing.map(({ name }) => name) } },
  );
}
