import type { Admin, Kafka } from 'kafkajs';
import { ConnectorError } from '../../errors.ts';
import type { Clock } from '../../support/clock.ts';
import type { DescribedMember } from '../cluster.ts';
import type { EnsureOptions, TopicReport, TopicSpecification } from '../topic.ts';
import { compareTopic, type FoundTopic } from '../topic-comparison.ts';
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
/** How long an optional topic may delay the start. */
const REFUSABLE_LEADER_WAIT_MS = 5_000;

export async function ensureTopics(
  options: TopicAdminOptions,
  topics: readonly TopicSpecification[],
  { create, tryCreation = false, mayBeRefused = new Set() }: EnsureOptions,
): Promise<TopicReport> {
  const admin = options.kafka.admin({ retry: kafkajsRetry(options.tuning) });
  const refused = new Map<string, ConnectorError>();
  const refusals: TopicRefusals = {
    mayBe: ({ name }) => mayBeRefused.has(name),
    add({ name }, error) {
      if (!mayBeRefused.has(name)) throw error;
      refused.set(name, error);
    },
  };
  const remaining = () => topics.filter(({ name }) => !refused.has(name));
  try {
    await admin.connect();
    const present = new Set(await admin.listTopics());
    const missing = topics.filter(({ name }) => !present.has(name));
    const created: string[] = [];
    const creation = { admin, timeout: options.tuning.topicsTimeoutMs, validateOnly: !create };
    if (create) created.push(...(await createMissing(missing, creation, refusals)));
    else {
      if (tryCreation) await createMissing(missing, creation, refusals);
      refuseMissing(
        remaining().filter((topic) => missing.includes(topic)),
        refusals,
      );
    }
    const found = await describe(options, admin, remaining(), refusals);
    const warnings = remaining().flatMap((topic) => {
      try {
        return compareTopic(topic, foundOf(found, topic.name));
      } catch (error) {
        if (!(error instanceof ConnectorError)) throw error;
        refusals.add(topic, error);
        return [];
      }
    });
    const maxMessageBytes = new Map(remaining().map(({ name }) => [name, limitOf(foundOf(found, name).settings)]));
    return { created, warnings, refused, maxMessageBytes };
  } catch (cause) {
    if (cause instanceof ConnectorError) throw cause;
    const brokers = options.brokers.join(', ');
    if (isLoginFailure(cause)) {
      const text = `The login at Kafka (${brokers}) failed. ${kafkaReason(cause)}`;
      throw new ConnectorError('KAFKA_UNREACHABLE', text, { cause });
    }
    const what = isUnanswered(cause)
      ? `Kafka does not answer at ${brokers}`
      : `The topics could not be created or verified at ${brokers}`;
    const text = `${what} (${kafkaReason(cause)}). The address is set by kafka.brokers (KAFKA_BROKERS).`;
    throw new ConnectorError('KAFKA_UNREACHABLE', text, { cause });
  } finally {
    admin.disconnect().catch(() => {});
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
  if (topics.length === 0) return [];
  const resources = topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name }));
  const configs = await admin.describeConfigs({ resources, includeSynonyms: false });
  return configs.resources.map(({ resourceName, configEntries }) => {
    return [resourceName, new Map(configEntries.map(({ configName, configValue }) => [configName, configValue]))];
  });
}

/** The largest batch: a segment must hold it too. */
function limitOf(settings: FoundTopic['settings']): number {
  const [batch, segment] = ['max.message.bytes', 'segment.bytes'].map((name) => Number(settings.get(name)));
  return Math.min(batch ?? Number.NaN, segment || Number.POSITIVE_INFINITY);
}

/** Once each partition has a leader. */
async function describe(
  options: TopicAdminOptions,
  admin: Admin,
  topics: readonly TopicSpecification[],
  refusals: TopicRefusals,
): Promise<ReadonlyMap<string, FoundTopic>> {
  const { clock, tuning } = options;
  const startedMs = clock.monotonicMs();
  for (;;) {
    // All topics are asked for, because asking for one that this broker does not know yet costs seconds of retries.
    const { topics: metadata } = await admin.fetchTopicMetadata();
    const led = new Map(
      metadata.flatMap(({ name, partitions }) =>
        partitions.length > 0 && partitions.every(({ leader }) => leader >= 0) ? [[name, partitions]] : [],
      ),
    );
    const waiting = topics.filter(({ name }) => !led.has(name));
    const waitedMs = clock.monotonicMs() - startedMs;
    const mustWait = waiting.some((topic) => !refusals.mayBe(topic));
    const limitMs = mustWait ? tuning.topicsTimeoutMs : Math.min(tuning.topicsTimeoutMs, REFUSABLE_LEADER_WAIT_MS);
    if (waiting.length === 0 || waitedMs >= limitMs) {
      for (const topic of waiting) refusals.add(topic, withoutLeader(topic, limitMs));
      const settings = await fetchSettings(
        options,
        admin,
        topics.filter(({ name }) => led.has(name)),
        refusals,
      );
      return new Map(
        [...settings].map(([name, found]) => {
          const partitions = led.get(name) ?? [];
          return [
            name,
            { partitions: partitions.length, replicas: partitions[0]?.replicas.length ?? 0, settings: found },
          ];
        }),
      );
    }
    await clock.sleep(LEADER_POLL_MS);
  }
}

/** Of all topics at once; where that is refused, one by one, to find the refused topic. */
async function fetchSettings(
  options: TopicAdminOptions,
  admin: Admin,
  topics: readonly TopicSpecification[],
  refusals: TopicRefusals,
): Promise<ReadonlyMap<string, FoundTopic['settings']>> {
  const ask = (some: readonly TopicSpecification[]) =>
    settingsOf(
      options,
      admin,
      some.map(({ name }) => name),
    );
  try {
    return new Map(await ask(topics));
  } catch (error) {
    if (topicRefusalOf(error) !== 'forbidden') throw error;
  }
  const found = new Map<string, FoundTopic['settings']>();
  for (const topic of topics) {
    try {
      for (const [name, settings] of await ask([topic])) found.set(name, settings);
    } catch (error) {
      if (topicRefusalOf(error) !== 'forbidden') throw error;
      refusals.add(topic, notDescribed(topic, error));
    }
  }
  return found;
}

function foundOf(found: ReadonlyMap<string, FoundTopic>, name: string): FoundTopic {
  const topic = found.get(name);
  if (topic === undefined) throw new Error(`topic ${name} vanished while it was verified`);
  return topic;
}

function withoutLeader({ name }: TopicSpecification, waitedMs: number): ConnectorError {
  const text =
    `Topic ${name} had no leader for every partition within ${waitedMs} ms, or is not shown to this account. ` +
    'Check the brokers that hold it, and the right Describe.';
  return new ConnectorError('KAFKA_UNREACHABLE', text, { fields: { topics: [name] } });
}

function notDescribed({ name }: TopicSpecification, cause: unknown): ConnectorError {
  const text =
    `The settings of topic ${name} could not be read (${kafkaReason(cause)}). ` +
    'Give the connector its rights on the topic (Create, DescribeConfigs, Read, Write), then start it again.';
  return new ConnectorError('TOPIC_REFUSED', text, { cause, fields: { topics: [name] } });
}

interface TopicRefusals {
  mayBe(topic: TopicSpecification): boolean;
  /** Throws it unless the topic may be refused. */
  add(topic: TopicSpecification, error: ConnectorError): void;
}

/** One by one: for several at once kafkajs does not report which of them existed. Returns those that it created. */
async function createMissing(
  missing: readonly TopicSpecification[],
  { admin, ...how }: { readonly admin: Admin; readonly timeout: number; readonly validateOnly: boolean },
  refusals: TopicRefusals,
): Promise<string[]> {
  const created: string[] = [];
  for (const wanted of missing) {
    const { name, partitions, replicationFactor, settings } = wanted;
    const configEntries = Object.entries(settings).map(([setting, value]) => ({ name: setting, value }));
    const topic = { topic: name, numPartitions: partitions, replicationFactor, configEntries };
    try {
      // False: another process created it a moment ago; it is verified like any other.
      if (await admin.createTopics({ topics: [topic], ...how, waitForLeaders: false })) created.push(name);
    } catch (error) {
      const hidden = hiddenErrors(error);
      if (hidden.length === 0) throw error;
      const reasons = hidden.map((refusal) => kafkaReason(refusal)).join('; ');
      const text =
        `Kafka refuses to create topic ${name} (${reasons}). Often topics.replicationFactor is above the number of ` +
        'brokers, or the right Create is missing.';
      refusals.add(wanted, new ConnectorError('TOPIC_NOT_CREATED', text, { cause: error, fields: { topic: name } }));
    }
  }
  return created;
}

function refuseMissing(missing: readonly TopicSpecification[], refusals: TopicRefusals): void {
  if (missing.some((topic) => !refusals.mayBe(topic))) throw topicsMissing(missing);
  for (const topic of missing) refusals.add(topic, topicsMissing([topic]));
}

/** kafkajs hides why a topic was refused in `errors`, one level down or behind a cause. */
function hiddenErrors(error: unknown): unknown[] {
  if (!(error instanceof Error)) return [];
  return 'errors' in error && Array.isArray(error.errors) ? error.errors : hiddenErrors(error.cause);
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
    `${missing.map(({ name }) => name).join(', ')}: missing. What would create them by hand:\n${commands.join('\n')}`,
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
    // Not earlier: a client that is disconnected while it connects stays connected.
    admin.disconnect().catch(() => {});
  }
}

/** See `KafkaCluster.groupMembers`. */
export async function fetchGroupMembers(
  { kafkajs, ...client }: Pick<TopicAdminOptions, 'kafka' | 'kafkajs' | 'tuning'>,
  groupId: string,
): Promise<readonly DescribedMember[] | null> {
  const { MemberAssignment } = kafkajs.AssignerProtocol;
  try {
    const { groups } = await askAdmin(client, (admin) => admin.describeGroups([groupId]));
    const { state = 'Dead', members = [] } = groups[0] ?? {};
    if (!['Stable', 'Empty', 'Dead'].includes(state)) return null;
    return members.map(({ clientHost, memberAssignment }) => {
      const given = memberAssignment.length > 0 ? MemberAssignment.decode(memberAssignment)?.assignment : undefined;
      const partitions = Object.entries(given ?? {}).flatMap(([topic, held]) =>
        held.map((partition) => ({ topic, partition })),
      );
      return { host: clientHost.replace(/^\//, ''), partitions };
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
