import type { TopicRole } from '../config/groups/topics.ts';
import { PRICE_KINDS } from '../config/price-kinds/all.ts';
import type { TopicSpecification } from './topic.ts';

/** The topics of one installation, by role, with the settings that each topic must have. */
export type TopicPlan = Readonly<Record<TopicRole, TopicSpecification>>;

export interface TopicPlanOptions {
  readonly prefix: string;
  readonly names: Readonly<Partial<Record<TopicRole, string>>>;
  /** The number of partitions of each topic whose records are joined by instrument id. */
  readonly partitions: number;
  readonly replicationFactor: number;
}

/** Kafka Connect's default. With another number, a source would get another partition and another transactional id. */
export const OFFSETS_PARTITIONS = 25;

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const MIB = 1024 * 1024;

/** Above Kafka's default, 1 MiB. Brokers and consumers with default settings accept records of this size too. */
const ROW_MAX_BYTES = 4 * MIB;

const compacted = { 'cleanup.policy': 'compact' };
const compactedAndDeleted = (days: number) => ({
  'cleanup.policy': 'compact,delete',
  'retention.ms': String(days * DAY_MS),
});
const deleted = (days: number) => ({ 'cleanup.policy': 'delete', 'retention.ms': String(days * DAY_MS) });
const rows = { 'max.message.bytes': String(ROW_MAX_BYTES) };

interface TopicDefinition {
  readonly settings: Readonly<Record<string, string>>;
  /** Replaces the configured number of partitions. */
  readonly partitions?: number;
  /** The schema of the values; null if the values are not Avro. */
  readonly schema: string | null;
}

const TABLE = {
  instruments: {
    settings: {
      ...compacted,
      ...rows,
      // Consumers that lag less than an hour see all records. Consumers that lag less than a week see all tombstones.
      'min.compaction.lag.ms': String(HOUR_MS),
      'max.compaction.lag.ms': String(7 * DAY_MS),
      'delete.retention.ms': String(7 * DAY_MS),
    },
    schema: 'Instrument',
  },
  'instrument-events': { settings: { ...deleted(30), ...rows }, schema: 'InstrumentEvent' },
  'pre-trade-checks': { settings: { ...compactedAndDeleted(30), ...rows }, schema: 'PreTradeCheck' },
  prices: { settings: { ...compactedAndDeleted(7), ...rows }, schema: PRICE_KINDS.overview.schema },
  // An unchanged price is not written again. So its record must stay longer than the maximum of the setting `lookBack`.
  'daily-prices': { settings: { ...compactedAndDeleted(400), ...rows }, schema: PRICE_KINDS.daily.schema },
  'intraday-prices': { settings: { ...compactedAndDeleted(400), ...rows }, schema: PRICE_KINDS.intraday.schema },
  notifications: { settings: deleted(90), partitions: 1, schema: 'Notification' },
  'dead-letters': { settings: deleted(30), partitions: 1, schema: null },
  offsets: {
    settings: {
      ...compacted,
      // Small segments make the topic quick to read at a start, because Kafka compacts only closed segments.
      'segment.bytes': String(16 * MIB),
      'segment.ms': String(HOUR_MS),
      // The null value of a reset stays for 90 days, so that the source's next start can report possible losses.
      'delete.retention.ms': String(90 * DAY_MS),
    },
    partitions: OFFSETS_PARTITIONS,
    schema: null,
  },
  states: { settings: compacted, partitions: 1, schema: null },
} as const satisfies Readonly<Record<TopicRole, TopicDefinition>>;

export function schemaNameOf(role: TopicRole) {
  return TABLE[role].schema;
}

/** Topics use the broker's time (LogAppendTime). With the time of a producer's wrong clock, brokers could delete records early. */
export function topicPlan({ prefix, names, partitions, replicationFactor }: TopicPlanOptions): TopicPlan {
  const specification = (role: TopicRole): TopicSpecification => {
    const own: TopicDefinition = TABLE[role];
    return {
      name: `${prefix}.${names[role] ?? role}`,
      partitions: own.partitions ?? partitions,
      replicationFactor,
      settings: { ...own.settings, 'message.timestamp.type': 'LogAppendTime' },
    };
  };
  const roles = Object.keys(TABLE) as TopicRole[];
  return Object.fromEntries(roles.map((role) => [role, specification(role)])) as TopicPlan;
}
