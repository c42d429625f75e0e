import type { Admin, ITopicMetadata, Kafka } from 'kafkajs';
import { ConnectorError } from '../../errors.ts';
import type { Clock } from '../../support/clock.ts';
import type { DescribedMember } from '../cluster.ts';
import type { EnsureOptions, TopicReport, TopicSpecification } from '../topic.ts';
import { compareTopic, type FoundTopic } from '../topic-comparison.ts';
import { heldBy } from './group/kafkajs-member-count.ts';
import { isLoginFailure, isUnanswered, kafkaReason, topicRefusalOf } from './kafkajs-errors.ts';
import { type KafkaTuning, kafkajsRetry } from './tuning.ts';

type Kafkajs = typeof import('kafkajs');

interface TopicAdminOptions {
  readonly kafkajs: Kafkajs;
  readonly kafka: Kafka;
  readonly brokers: readonly string[];
  readonly tuning: KafkaTuning;
  readonly clock: Clock;
}

const LEADER_POLL_MS = 50;
/** A topic in `mayBeRefused` delays the start by at most this time. */
const REFUSABLE_LEADER_WAIT_MS = 5_000;

export async function ensureTopics(
  options: TopicAdminOptions,
  topics: readonly TopicSpecification[],
  { create, tryCreation = create, mayBeRefused = new Set() }: EnsureOptions,
): Promise<TopicReport> {
  const refused = new Map<string, ConnectorError>();
  const each = async (some: readonly TopicSpecification[], verify: (topic: TopicSpecification) => Promise<void>) => {
    for (const topic of some) {
      if (refused.has(topic.name)) continue;
      await verify(topic).catch((error: unknown) => {
        if (!(error instanceof ConnectorError) || !mayBeRefused.has(topic.name)) throw error;
        refused.set(topic.name, error);
      });
    }
  };
  const [created, warnings, maxMessageBytes]: [string[], string[], Map<string, number>] = [[], [], new Map()];
  const verify = async (admin: Admin) => {
    const present = new Set(await admin.listTopics());
    const missing = topics.filter(({ name }) => !present.has(name));
    const how = { timeout: options.tuning.topicsTimeoutMs, validateOnly: !create };
    await each(tryCreation ? missing : [], async (topic) => {
      if (await createTopic(admin, topic, how)) created.push(topic.name);
    });
    const notThere = create ? [] : missing.filter(({ name }) => !refused.has(name));
    await each(notThere, async (topic) => {
      throw topicsMissing(mayBeRefused.has(topic.name) ? [topic] : notThere, options.brokers);
    });
    const left = topics.filter(({ name }) => !refused.has(name));
    const led = await untilLed(options, admin, left, mayBeRefused);
    await each(left, async (topic) => {
      const { name } = topic;
      const partitions = led.get(name);
      if (partitions === undefined) throw withoutLeader(topic);
      const settings = await describedSettings(options, admin, name);
      const replicas = partitions[0]?.replicas.length ?? 0;
      warnings.push(...compareTopic(topic, { partitions: partitions.length, replicas, settings }));
      maxMessageBytes.set(name, limitOf(settings));
    });
    return { created: create ? created : [], warnings, refused, maxMessageBytes };
  };
  try {
    return await askAdmin(options, verify);
  } catch (cause) {
    if (cause instanceof ConnectorError) throw cause;
    const brokers = options.brokers.join(', ');
    if (isLoginFailure(cause)) {
      const text = `The login at Kafka (${brokers}) failed. ${kafkaReason(cause)}`;
      throw new ConnectorError('KAFKA_UNREACHABLE', text, { cause });
    }
    const what = isUnanswered(cause)
      ? `Kafka does not answer at ${brokers}`
      : `The topics could not be ${create ? 'created or ' : ''}verified at ${brokers}`;
    const text = `${what} (${kafkaReason(cause)}). The address is set by kafka.brokers (KAFKA_BROKERS).`;
    throw new ConnectorError('KAFKA_UNREACHABLE', text, { cause });
  }
}

export async function fetchMaxMessageBytes(
  options: Pick<TopicAdminOptions, 'kafka' | 'kafkajs' | 'tuning'>,
  topics: readonly string[],
): Promise<TopicReport['maxMessageBytes']> {
  const settings = await askAdmin(options, (admin) => settingsOf(options, admin, topics));
  return new Map(settings.map(([name, found]) => [name, limitOf(found)]));
}

async function settingsOf(
  { kafkajs }: Pick<TopicAdminOptions, 'kafkajs'>,
  admin: Admin,
  topics: readonly string[],
): Promise<[string, FoundTopic['settings']][]> {
  const resources = topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name }));
  const configs = await admin.describeConfigs({ resources, includeSynonyms: false });
  return configs.resources.map(({ resourceName, configEntries }) => {
    return [resourceName, new Map(configEntries.map(({ configName, configValue }) => [configName, configValue]))];
  });
}

/** The largest record batch that the topic accepts; a batch must also fit in one segment. */
function limitOf(settings: FoundTopic['settings']): number {
  const sizes = ['max.message.bytes', 'segment.bytes'].map((name) => Number(settings.get(name)));
  return Math.min(...sizes.map((bytes) => bytes || Number.POSITIVE_INFINITY));
}

/** Waits for all leaders, up to a limit. Returns the partitions of topics whose partitions all have a leader. */
async function untilLed(
  { clock, tuning }: TopicAdminOptions,
  admin: Admin,
  topics: readonly TopicSpecification[],
  mayBeRefused: ReadonlySet<string>,
): Promise<ReadonlyMap<string, ITopicMetadata['partitions']>> {
  const startedMs = clock.monotonicMs();
  for (;;) {
    // Requests all topics, because a request for a topic that this broker does not know yet costs seconds of retries.
    const { topics: metadata } = await admin.fetchTopicMetadata();
    const isLed = ({ partitions }: ITopicMetadata) =>
      partitions.length > 0 && partitions.every(({ leader }) => leader >= 0);
    const led = new Map(metadata.filter(isLed).map(({ name, partitions }) => [name, partitions]));
    const waiting = topics.filter(({ name }) => !led.has(name));
    const mustWait = waiting.some(({ name }) => !mayBeRefused.has(name));
    const limitMs = mustWait ? tuning.topicsTimeoutMs : Math.min(tuning.topicsTimeoutMs, REFUSABLE_LEADER_WAIT_MS);
    if (waiting.length === 0 || clock.monotonicMs() - startedMs >= limitMs) return led;
    await clock.sleep(LEADER_POLL_MS);
  }
}

function withoutLeader({ name }: TopicSpecification): ConnectorError {
  const text =
    `Some partitions of topic ${name} have no leader, or this account may not see the topic. ` +
    'Check the brokers of this topic, and whether this account has the ACL Describe on the topic.';
  return new ConnectorError('KAFKA_UNREACHABLE', text, { fields: { topics: [name] } });
}

async function describedSettings(
  options: TopicAdminOptions,
  admin: Admin,
  name: string,
): Promise<FoundTopic['settings']> {
  try {
    const [[, settings] = []] = await settingsOf(options, admin, [name]);
    if (settings === undefined) throw new Error(`topic ${name} was deleted while it was verified`);
    return settings;
  } catch (cause) {
    if (topicRefusalOf(cause) !== 'forbidden') throw cause;
    const text =
      `The settings of topic ${name} could not be read (${kafkaReason(cause)}). ` +
      'Give the connector its rights on the topic (Create, DescribeConfigs, Read, Write), then restart the connector.';
    throw new ConnectorError('TOPIC_REFUSED', text, { cause, fields: { topics: [name] } });
  }
}

/** Creates only one topic, because for several topics kafkajs does not report which exist. Returns false if the topic exists. */
async function createTopic(
  admin: Admin,
  { name, partitions, replicationFactor, settings }: TopicSpecification,
  how: { readonly timeout: number; readonly validateOnly: boolean },
): Promise<boolean> {
  const configEntries = Object.entries(settings).map(([setting, value]) => ({ name: setting, value }));
  const topic = { topic: name, numPartitions: partitions, replicationFactor, configEntries };
  try {
    return await admin.createTopics({ topics: [topic], ...how, waitForLeaders: false });
  } catch (error) {
    const hidden = hiddenErrors(error);
    if (hidden.length === 0) throw error;
    const reasons = hidden.map((refusal) => kafkaReason(refusal)).join('; ');
    const text =
      `Kafka refuses to create topic ${name} (${reasons}). Often topics.replicationFactor is above the number of ` +
      'brokers, or this account lacks the ACL Create.';
    throw new ConnectorError('TOPIC_NOT_CREATED', text, { cause: error, fields: { topic: name } });
  }
}

/** The broker's reasons. kafkajs has them in the field `errors` of its error, or of a cause of its error. */
function hiddenErrors(error: unknown): unknown[] {
  if (!(error instanceof Error)) return [];
  return 'errors' in error && Array.isArray(error.errors) ? error.errors : hiddenErrors(error.cause);
}

function topicsMissing(missing: readonly TopicSpecification[], brokers: readonly string[]): ConnectorError {
  const commands = missing.map(
    ({ name, partitions, replicationFactor, settings }) =>
      `kafka-topics.sh --bootstrap-server ${brokers.join(',')} --create --topic ${name} --partitions ${partitions} ` +
      `--replication-factor ${replicationFactor}` +
      Object.entries(settings)
        .map(([setting, value]) => ` --config ${setting}=${value}`)
        .join(''),
  );
  return new ConnectorError(
    'TOPIC_MISSING',
    `${missing.map(({ name }) => name).join(', ')}: missing. These commands create them:\n${commands.join('\n')}`,
    { fields: { topics: missing.map(({ name }) => name) } },
  );
}

export async function askAdmin<Found>(
  { kafka, tuning }: { readonly kafka: Kafka; readonly tuning: KafkaTuning },
  ask: (admin: Admin) => Promise<Found>,
): Promise<Found> {
  const admin = kafka.admin({ retry: kafkajsRetry(tuning) });
  try {
    await admin.connect();
    return await ask(admin);
  } finally {
    // `connect` has ended before. A disconnect while kafkajs still connects would leave the connection open.
    admin.disconnect().catch(() => {});
  }
}

export async function fetchGroupMembers(
  { kafkajs, ...client }: Pick<TopicAdminOptions, 'kafka' | 'kafkajs' | 'tuning'>,
  groupId: string,
): Promise<readonly DescribedMember[] | null> {
  try {
    const { groups } = await askAdmin(client, (admin) => admin.describeGroups([groupId]));
    const { state = 'Dead', members = [] } = groups[0] ?? {};
    if (!['Stable', 'Empty', 'Dead'].includes(state)) return null;
    return members.map(({ clientHost, memberAssignment }) => {
      return { host: clientHost.replace(/^\//, ''), partitions: heldBy(memberAssignment, kafkajs) };
    });
  } catch (cause) {
    const text = `The members of group ${groupId} could not be listed (${kafkaReason(cause)}).`;
    throw new ConnectorError('KAFKA_UNREACHABLE', text, { cause, fields: { groupId } });
  }
}

export async function fetchClusterId(client: Parameters<typeof askAdmin>[0]): Promise<string> {
  try {
    return (await askAdmin(client, (admin) => admin.describeCluster())).clusterId;
  } catch (cause) {
    const text = `The cluster could not be described (${kafkaReason(cause)}).`;
    throw new ConnectorError('KAFKA_UNREACHABLE', text, { cause });
  }
}
