/** A topic as we want it: created so when missing, verified against it when present. */
export interface TopicSpecification {
  readonly name: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  /** Topic settings by their Kafka names, `cleanup.policy` among them; all values as text. */
  readonly settings: Readonly<Record<string, string>>;
}

export interface TopicReport {
  readonly created: readonly string[];
  /** Drift that is no error: one sentence each, naming topic, setting, wanted and found. */
  readonly warnings: readonly string[];
  /** Of every topic asked for, by name: the largest record batch that the broker takes, in bytes. */
  readonly maxMessageBytes: ReadonlyMap<string, number>;
}

export interface TopicPartition {
  readonly topic: string;
  readonly partition: number;
}
