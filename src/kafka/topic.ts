import type { ConnectorError } from '../errors.ts';

/** Key, headers and framing of a record, at most: the limit of a topic counts them too. */
export const RECORD_ALLOWANCE_BYTES = 4_096;

/** A topic as we want it: created so when missing, verified against it when present. */
export interface TopicSpecification {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  /** Topic settings by their Kafka names, `cleanup.policy` among them; all values as text. */
  readonly settings: Readonly<Record<string, string>>;
}

/** How topics are to be made sure of. */
export interface EnsureOptions {
  /** Whether what is missing is created. */
  readonly create: boolean;
  /** Names of topics whose refusal is part of the report; that of any other is thrown. */
  readonly mayBeRefused?: ReadonlySet<string>;
}

export interface TopicReport {
  readonly created: readonly string[];
  /** Drift that is no error: one sentence each, naming topic, setting, wanted and found. */
  readonly warnings: readonly string[];
  /** Why a topic is not as it must be, by name; only of those that may be refused. */
  readonly refused: ReadonlyMap<string, ConnectorError>;
  /** Of every other topic asked for, by name: the largest record batch that the broker takes, in bytes. */
  readonly maxMessageBytes: ReadonlyMap<string, number>;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}

export function partitionsOf({ name, partitions }: TopicSpecification): TopicPartition[] {
  return Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition }));
}
