export type KafkaTuning = Readonly<typeof DEFAULT_TUNING>;

/** All limits of our Kafka clients. The defaults are measured; tests shorten them. */
export const DEFAULT_TUNING = {
  requestTimeoutMs: 10_000,
  connectionTimeoutMs: 3_000,
  /** Retries inside kafkajs. Never 0, because the normal CONCURRENT_TRANSACTIONS would become a failure. */
  retries: 5,
  initialRetryMs: 50,
  maxRetryMs: 2_000,
  /** The broker aborts an older transaction. Our writer gives up at the same age. */
  transactionTimeoutMs: 60_000,
  /** Time for an opening, in addition to the transaction time-out in which the broker ends an earlier transaction. */
  openGraceMs: 20_000,
  openBackOff: { initialMs: 100, maximumMs: 2_000 },
  disconnectMs: 3_000,
  /** Payload of one send, which becomes one record batch. Below the usual max.message.bytes of 1 MiB, uncompressed. */
  maxSendBytes: 900_000,
  maxSendRecords: 10_000,
  /** Payload of one round of sends, which becomes one request to each broker. Brokers take 100 MiB by default. */
  maxRoundBytes: 8_000_000,
  readStallMs: 30_000,
  groupSessionTimeoutMs: 6_000,
  /** The time for all members to join again after a change of the group; at least a session. */
  groupJoinMs: 20_000,
  /** The wait for the group's state, before a join without a head start. */
  headStartMs: 1_000,
  /** The time between heartbeats and between fetches. A short time lets a member soon notice a leaving member. */
  confirmIntervalMs: 300,
  /**
   * The maximum age of a proof of ownership, and at most half a session. The age begins when the heartbeat is sent. The
   * group waits at least a session before it reassigns a partition. So the next request has at least 4 s.
   */
  proofMs: 2_000,
  /** A reader's fetch waits at most this long for data. The reader's disconnect takes at most the same time. */
  readWaitMs: 50,
  /** A follower's fetch waits at most this long. A record, or the follower's end, ends the wait at once. */
  tailWaitMs: 5_000,
  /** A batch in progress delays other partitions at most this long. */
  takeGraceMs: 100,
  tailBackOff: { initialMs: 200, maximumMs: 30_000 },
  topicsTimeoutMs: 30_000,
};

export function longestProofMs({ proofMs, groupSessionTimeoutMs }: KafkaTuning): number {
  return Math.min(proofMs, groupSessionTimeoutMs / 2);
}

/** We wait this much longer for the response to a join than the broker waits for all members. */
const JOIN_GRACE_MS = 10_000;

/** A join must fail later here than at the broker. Otherwise the next join would wait for an abandoned member. */
export function joinLimits({ groupJoinMs, groupSessionTimeoutMs, readStallMs }: KafkaTuning): {
  readonly rebalanceMs: number;
  readonly stallMs: number;
} {
  const rebalanceMs = Math.max(groupJoinMs, groupSessionTimeoutMs);
  return { rebalanceMs, stallMs: Math.max(readStallMs, rebalanceMs + JOIN_GRACE_MS) };
}

/** The bytes of one fetch, as stored on the broker: a batch or two. More is not faster and uses more memory. */
export const FETCH_BYTES_PER_PARTITION = 128 * 1024;
/** The bytes of a member's fetch from one broker. With more, waiting batches stay in memory longer. */
export const FETCH_BYTES = 192 * 1024;

/** By default, the coordinator searches for expired transactions every 10 s. */
const TOO_OLD_SEEN_MS = 12_000;

/** The longest time that the connector keeps a transaction open; below the deadline of an opening. */
export function longestOpenMs({ transactionTimeoutMs, openGraceMs }: KafkaTuning): number {
  return transactionTimeoutMs + Math.min(TOO_OLD_SEEN_MS, openGraceMs / 2);
}

export function kafkajsRetry(tuning: KafkaTuning) {
  return { retries: tuning.retries, initialRetryTime: tuning.initialRetryMs, maxRetryTime: tuning.maxRetryMs };
}
