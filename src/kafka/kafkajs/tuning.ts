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
  /** How long members may take to join again when the group changes; at least a session. */
  readonly groupJoinMs: number;
  /** How long a member waits for the state of its group, before it joins without a head start. */
  readonly headStartMs: number;
  /** Between two heartbeats and two fetches of a member with others: it must know soon when one has left. */
  readonly confirmIntervalMs: number;
  /** The same for a member with others that reads nothing, as each of the sources: so soon it can take over. */
  readonly confirmRestingMs: number;
  /** Between two heartbeats of a member that is alone in its group. */
  readonly confirmAloneMs: number;
  /** Its fetches wait for so long; a record ends the wait at once. At most half the time-out of requests. */
  readonly readAloneMs: number;
  /**
   * A writer begins and commits with a proof of ownership no older than this, or than half a session.
   *
   * The group gives a partition away without its member's consent one session after the last heartbeat at the earliest.
   * A proof counts from the moment when its heartbeat was sent. So with the oldest valid one, at least 6 s - 2 s = 4 s are
   * left by default, and never less than half a session, for the request that follows; a request that takes longer meets
   * the fence of the next owner. And with a heartbeat each 1 s (a quarter of a session), a member that gets its responses
   * has a valid proof at any time: no transaction waits for one.
   */
  readonly proofMs: number;
  /** How long a reader's fetch waits for data, and therefore what its disconnect costs at most. */
  readonly readWaitMs: number;
  /**
   * The same for a reader that follows a topic: fewer empty responses; a record ends the wait at once, and so does the end
   * of the reader.
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
  groupJoinMs: 20_000,
  headStartMs: 1_000,
  confirmIntervalMs: 300,
  confirmRestingMs: 100,
  confirmAloneMs: 1_000,
  readAloneMs: 5_000,
  proofMs: 2_000,
  readWaitMs: 50,
  tailWaitMs: 5_000,
  takeGraceMs: 100,
  tailBackOff: { initialMs: 200, maximumMs: 30_000 },
  topicsTimeoutMs: 30_000,
};

/** How old a proof of ownership may be. */
export function longestProofMs({ proofMs, groupSessionTimeoutMs }: KafkaTuning): number {
  return Math.min(proofMs, groupSessionTimeoutMs / 2);
}

/** A join without a response takes this much longer than a broker lets members of the group take to join. */
const JOIN_GRACE_MS = 10_000;

/**
 * How long a broker lets the members of a group take to join again: those that it still expects then are no members any
 * more. A member asks for this time, and a join in which nothing comes has failed somewhat later. The other order would
 * leave a member behind for which the next join waits, in vain: kafkajs' 60 s once more.
 */
export function joinLimits({ groupJoinMs, groupSessionTimeoutMs, readStallMs }: KafkaTuning): {
  readonly rebalanceMs: number;
  readonly stallMs: number;
} {
  const rebalanceMs = Math.max(groupJoinMs, groupSessionTimeoutMs);
  return { rebalanceMs, stallMs: Math.max(readStallMs, rebalanceMs + JOIN_GRACE_MS) };
}

/** kafkajs' own names for its retries. */
export function kafkajsRetry(tuning: KafkaTuning) {
  return { retries: tuning.retries, initialRetryTime: tuning.initialRetryMs, maxRetryTime: tuning.maxRetryMs };
}
