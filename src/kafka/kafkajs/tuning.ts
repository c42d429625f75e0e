/** Every limit of our Kafka clients. The defaults are measured; tests shorten them. */
export interface KafkaTuning {
  /** A request without a response for this long has failed. */
  readonly requestTimeoutMs: number;
  readonly connectionTimeoutMs: number;
  /** Retries inside kafkajs; never 0, since the normal CONCURRENT_TRANSACTIONS would become a failure. */
  readonly retries: number;
  readonly initialRetryMs: number;
  readonly maxRetryMs: number;
  /** The broker aborts a transaction that is older; ours gives up at the same age. */
  readonly transactionTimeoutMs: number;
  /** How long `open` may take beyond the transaction time-out, within which the broker ends an earlier transaction. */
  readonly openGraceMs: number;
  readonly openBackOff: { readonly initialMs: number; readonly maximumMs: number };
  /** A disconnect waits for requests under way, at most this long. */
  readonly disconnectMs: number;
  /** Payload of one send, which becomes one record batch. Below the usual max.message.bytes of 1 MiB, uncompressed. */
  readonly maxSendBytes: number;
  /** Records of one send, which becomes one record batch. */
  readonly maxSendRecords: number;
  /** Payload of one round of sends, which becomes one request to each broker. Brokers take 100 MiB by default. */
  readonly maxRoundBytes: number;
  /** A reader without progress for this long has failed. */
  readonly readStallMs: number;
  readonly sessionTimeoutMs: number;
  /** Of a member of a group: a killed one loses its partitions after this. */
  readonly groupSessionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  /**
   * Between two heartbeats and two fetches of a member of a group: it must know soon whether it still holds its
   * partitions.
   */
  readonly confirmIntervalMs: number;
  /** How long a reader's fetch waits for data, and therefore what its disconnect costs at most. */
  readonly readWaitMs: number;
  /**
   * The same for a reader that follows a topic: fewer empty responses; a record ends the wait at once. A group's member
   * sends its heartbeat between two fetches, so this also limits how late it learns of a rebalance.
   */
  readonly tailWaitMs: number;
  /** How long the fetches of all partitions wait for a batch that is being taken, before its partition is paused. */
  readonly takeGraceMs: number;
  /** The wait after the n-th failure in a row before joining again. */
  readonly tailBackOff: { readonly initialMs: number; readonly maximumMs: number };
  /** How long topics may take to be created and to get their leaders. */
  readonly topicsTimeoutMs: number;
}

export const DEFAULT_TUNING: KafkaTuning = {
  requestTimeoutMs: 10_000,
  connectionTimeoutMs: 3_000,
  retries: 5,
  initialRetryMs: 50,
  maxRetryMs: 2_000,
  transactionTimeoutMs: 60_000,
  openGraceMs: 20_000,
  openBackOff: { initialMs: 100, maximumMs: 2_000 },
  disconnectMs: 3_000,
  maxSendBytes: 900_000,
  maxSendRecords: 10_000,
  maxRoundBytes: 8_000_000,
  readStallMs: 30_000,
  sessionTimeoutMs: 30_000,
  groupSessionTimeoutMs: 6_000,
  heartbeatIntervalMs: 1_000,
  confirmIntervalMs: 300,
  readWaitMs: 50,
  tailWaitMs: 500,
  takeGraceMs: 100,
  tailBackOff: { initialMs: 200, maximumMs: 30_000 },
  topicsTimeoutMs: 30_000,
};

/** kafkajs' own names for its retries. */
export function kafkajsRetry(tuning: KafkaTuning) {
  return { retries: tuning.retries, initialRetryTime: tuning.initialRetryMs, maxRetryTime: tuning.maxRetryMs };
}
