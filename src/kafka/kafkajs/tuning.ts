export type KafkaTuning = Readonly<typeof DEFAULT_TUNING>;

/** All limits of our Kafka clients. The defaults are measured; tests shorten them. */
export const DEFAULT_TUNING = {
  requestTimeoutMs: 10_000,
  connectionTimeoutMs: 3_000,
  /** The retries inside kafkajs. Without retries, the normal response CONCURRENT_TRANSACTIONS would be a failure. */
  retries: 5,
  initialRetryMs: 50,
  maxRetryMs: 2_000,
  /** The broker aborts a transaction that is older than this. Our writer gives up a transaction at the same age. */
  transactionTimeoutMs: 60_000,
  /** A writer opens within `transactionTimeoutMs` plus this time, or fails. An earlier transaction expires before this limit. */
  openGraceMs: 20_000,
  openBackOff: { initialMs: 100, maximumMs: 2_000 },
  disconnectMs: 3_000,
  /** The maximum payload of a record batch, before compression; less than the usual max.message.bytes of 1 MiB. */
  maxSendBytes: 900_000,
  maxSendRecords: 10_000,
  /** The maximum payload of a round (a request to each broker). By default, brokers accept requests of 100 MiB. */
  maxRoundBytes: 8_000_000,
  readStallMs: 30_000,
  groupSessionTimeoutMs: 6_000,
  /** The time in which all members must join again after a change of the group; at least the session timeout. */
  groupJoinMs: 20_000,
  /** If the group's state does not arrive in this time, the member joins without a head start (see ../head-start.ts). */
  headStartMs: 1_000,
  /** The time between heartbeats, and the longest wait of a fetch. If it is short, members soon notice that one has left. */
  confirmIntervalMs: 300,
  /**
   * The maximum age of a proof of ownership: a heartbeat that the group has answered. The age begins when the heartbeat is
   * sent. The group waits 6 s for a heartbeat before it reassigns a partition. So at least 4 s remain for a request.
   */
  proofMs: 2_000,
  /** A reader's fetch waits at most this long for data. The reader's disconnect takes at most the same time. */
  readWaitMs: 50,
  /** A fetch of `LogTail.follow` waits at most this long. A record, or an abort of the signal, ends the wait at once. */
  tailWaitMs: 5_000,
  /** While a member processes a batch of one partition, the other partitions wait at most this long. */
  takeGraceMs: 100,
  tailBackOff: { initialMs: 200, maximumMs: 30_000 },
  topicsTimeoutMs: 30_000,
};

export function longestProofMs({ proofMs, groupSessionTimeoutMs }: KafkaTuning): number {
  return Math.min(proofMs, groupSessionTimeoutMs / 2);
}

/** We wait this much longer for the response to a join than the broker waits for all members. */
const JOIN_GRACE_MS = 10_000;

/** A join must time out at the broker before it times out here. Otherwise the broker would wait for the abandoned member. */
export function joinLimits({ groupJoinMs, groupSessionTimeoutMs, readStallMs }: KafkaTuning): {
  readonly rebalanceMs: number;
  readonly stallMs: number;
} {
  const rebalanceMs = Math.max(groupJoinMs, groupSessionTimeoutMs);
  return { rebalanceMs, stallMs: Math.max(readStallMs, rebalanceMs + JOIN_GRACE_MS) };
}

/** The maximum size of a fetch from one partition: one or two stored batches. Larger fetches only use more memory. */
export const FETCH_BYTES_PER_PARTITION = 128 * 1024;
/** The maximum size of a member's fetch from one broker. With larger fetches, waiting batches stay in memory longer. */
export const FETCH_BYTES = 192 * 1024;

/** The coordinator notices an expired transaction within this time: by default, it searches every 10 s. */
const TOO_OLD_SEEN_MS = 12_000;

/** The longest time for which a transaction can stay open. The time limit for the opening of a writer is longer. */
export function longestOpenMs({ transactionTimeoutMs, openGraceMs }: KafkaTuning): number {
  return transactionTimeoutMs + Math.min(TOO_OLD_SEEN_MS, openGraceMs / 2);
}

export function kafkajsRetry(tuning: KafkaTuning) {
  return { retries: tuning.retries, initialRetryTime: tuning.initialRetryMs, maxRetryTime: tuning.maxRetryMs };
}
