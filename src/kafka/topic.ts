import type { ConnectorError } from '../errors.ts';

/** Key, headers and framing of a record, at most: the limit of a topic counts them too. */
export const RECORD_ALLOWANCE_BYTES = 4_096;

export interface TopicSpecification {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  /** Topic settings by their Kafka names, `cleanup.policy` among them; all values as text. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface EnsureOptions {
  readonly create: boolean;
  /** Where they are not: whether the brokers are asked if they would create them. */
  readonly tryCreation?: boolean;
  /** Names of topics whose refusal is part of the report; that of any other is thrown. */
  readonly mayBeRefused?: ReadonlySet<string>;
}

export interface TopicReport {
  readonly created: readonly string[];
  /** Differences that are not errors: one sentence each, with topic, setting, expected and found value. */
  readonly warnings: readonly string[];
  /** Why a topic is refused, by name; only of those that may be refused. */
  readonly refused: ReadonlyMap<string, ConnectorError>;
  /** Of every other topic, by name: the largest record batch that the broker takes, in bytes. */
  readonly maxMessageBytes: ReadonlyMap<string, number>;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export function partitionsOf({ name, partitions }: TopicSpecification): TopicPartition[] {
  return Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition }));
}
