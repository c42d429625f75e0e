import type { ConnectorError } from '../errors.ts';

/** The maximum size of a record without its value. The topic's max.message.bytes limits the whole record. */
export const RECORD_ALLOWANCE_BYTES = 4_096;

export interface TopicSpecification {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  /** Topic settings by their Kafka names, `cleanup.policy` included. All values are text. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface EnsureOptions {
  readonly create: boolean;
  /** Lets the brokers check if they would create the missing topics, even if `create` is false. */
  readonly tryCreation?: boolean;
  /** Topics that may be missing or unusable: their errors are in the report. The error of any other topic is thrown. */
  readonly mayBeRefused?: ReadonlySet<string>;
}

export interface TopicReport {
  readonly created: readonly string[];
  /** Differences that are not errors. Each text names the topic, the setting, and the expected and the found value. */
  readonly warnings: readonly string[];
  /** The error of each refused topic, by name. Only topics that may be refused are in this map. */
  readonly refused: ReadonlyMap<string, ConnectorError>;
  /** The maximum size of a record batch in bytes, by topic name. Refused topics have no entry. */
  readonly maxMessageBytes: ReadonlyMap<string, number>;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export function partitionsOf({ name, partitions }: TopicSpecification): TopicPartition[] {
  return Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition }));
}
