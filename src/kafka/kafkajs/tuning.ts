export type KafkaTuning = Readonly<typeof DEFAULT_TUNING>;

/** Every limit of our Kafka clients. The defaults are measured; tests shorten them. */
export const DEFAULT_TUNING = {
  requestTimeoutMs: 10_000,
  connectionTimeoutMs: 3_000,
  /** Inside kafkajs; never 0, since the normal CONCURRENT_TRANSACTIONS would become a failure. */
  retries: 5,
  initialRetryMs: 50,
  maxRetryMs: 2_000,
  /** The broker aborts a transaction that is older; ours gives up at the same age. */
  transactionTimeoutMs: 60_000,
  /** Beyond the transaction time-out, within which the broker ends an earlier transaction. */
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
  /** For all to join again when the group changes; at least a session. */
  groupJoinMs: 20_000,
  /** For the state of the group, before a join without a head start. */
  headStartMs: 1_000,
  /** Between two heartbeats and two fetches of a member: it must know soon when another one has left. */
  confirmIntervalMs: 300,
  /**
   * A proof of ownership is no older than this, or than half a session. It counts from the sending of its heartbeat, and the
   * group gives a partition away one session later at the earliest: at least 4 s are left for the next request.
   */
  proofMs: 2_000,
  /** A reader's fetch waits so long for data; its disconnect takes as long at most. */
  readWaitMs: 50,
  /** Of a follower. A record ends the wait at once, and so does the end of the follower. */
  tailWaitMs: 5_000,
  /** A batch that is being taken holds up the other partitions no longer. */
  takeGraceMs: 100,
  tailBackOff: { initialMs: 200, maximumMs: 30_000 },
  topicsTimeoutMs: 30_000,
};

export function longestProofMs({ proofMs, groupSessionTimeoutMs }: KafkaTuning): number {
  return Math.min(proofMs, groupSessionTimeoutMs / 2);
}

/** A join without a response takes this much longer than a broker lets members of the group take to join. */
const JOIN_GRACE_MS = 10_000;

/** A join fails later than the broker ends it; else the next join would wait for a member that is left behind. */
export function joinLimits({ groupJoinMs, groupSessionTimeoutMs, readStallMs }: KafkaTuning): {
  readonly rebalanceMs: number;
  readonly stallMs: number;
} {
  const rebalanceMs = Math.max(groupJoinMs, groupSessionTimeoutMs);
  return { rebalanceMs, stallMs: Math.max(readStallMs, rebalanceMs + JOIN_GRACE_MS) };
}

/** Of one fetch, as stored on the broker: a batch or two. Larger ones are no faster, and outlive the young generation. */
export const FETCH_BYTES_PER_PARTITION = 128 * 1024;
/** Of a member's fetch from one broker: batches that wait for others of their fetch outlive the young generation too. */
export const FETCH_BYTES = 192 * 1024;

/** The coordinator looks for transactions that are too old each 10 s by default. */
const TOO_OLD_SEEN_MS = 12_000;

/** The connector keeps no transaction open for longer; below the deadline of an opening. */
export function longestOpenMs({ transactionTimeoutMs, openGraceMs }: KafkaTuning): number {
  return transactionTimeoutMs + Math.min(TOO_OLD_SEEN_MS, openGraceMs / 2);
}

export function kafkajsRetry(tuning: KafkaTuning) {
  return { retries: tuning.retries, initialRetryTime: tuning.initialRetryMs, maxRetryTime: tuning.maxRetryMs };
}
