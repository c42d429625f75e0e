import type { SourceSettings } from '../../config/settings.ts';
import type { DescribedMember } from '../../kafka/cluster.ts';
import type { Freshness, KindFreshness, NOTIFICATION_KINDS } from '../../observe/events.ts';
import type { TargetState } from '../../worker/target.ts';
import type { AgeStep } from '../drawing/charts.ts';

/** The state of this process, as JSON at `/status.json` and as the status page. Instants are ISO 8601, in UTC. */
export interface Status {
  readonly version: string;
  readonly prefix: string;
  readonly kafkaClusterId: string | null;
  readonly at: string;
  readonly startedAt: string;
  /** True if every check in `checks` is ok. */
  readonly ready: boolean;
  readonly checks: readonly ReadinessCheck[];
  readonly alarms: readonly Alarm[];
  /** Seconds since the last answer of a broker, or since the start if no broker has answered yet. */
  readonly kafkaSilentSeconds: number;
  /** True if `kafkaSilentSeconds` is at least KAFKA_IS_SILENT_SECONDS. */
  readonly kafkaIsSilent: boolean;
  readonly sources: readonly SourceStatus[];
  readonly processor: ProcessorStatus | null;
  /** The newest notifications of this process, the newest first. */
  readonly notifications: readonly Notified[];
}

/** All replicas of the connector, from Kafka's lists of the members of both consumer groups. */
export interface Whole {
  /** Replicas that run sources, with their partitions of the offsets topic; null during a rebalance. */
  readonly sources: readonly DescribedMember[] | null;
  /** Replicas that request prices, with their partitions of instruments topics; null during a rebalance. */
  readonly prices: readonly DescribedMember[] | null;
  readonly pricedPartitions: number;
  /** The committed stream offset of each source, by its name; empty with a single replica. */
  readonly offsets: Readonly<Record<string, string | null>>;
  /** The time of the newest written price, by partition; empty with a single replica. */
  readonly newestPrices: Readonly<Record<number, string>>;
}

/** The status with all replicas; `whole` is null if Kafka has not listed the replicas recently. */
export interface WholeStatus extends Status {
  readonly whole: Whole | null;
}

export interface Alarm {
  /** True if an operator is needed or all work stops; false if the work is retried. */
  readonly isGrave: boolean;
  readonly text: string;
}

export interface ReadinessCheck {
  readonly name: string;
  readonly ok: boolean;
  readonly why: string;
}

export interface Notified {
  readonly at: string;
  readonly source: string;
  readonly kind: (typeof NOTIFICATION_KINDS)[number] | 'walkCompleted' | 'windowsMissed' | 'sourceFailed';
  readonly text: string;
}

/** `unassigned`: the task has not started, is stopped, or runs in another process. */
export type TaskState = 'unassigned' | 'running' | 'paused' | 'failed';

export interface SourceStatus {
  readonly name: string;
  readonly type: SourceSettings['type'];
  readonly wanted: TargetState;
  readonly task: TaskState;
  readonly trace: string | null;
  /** The time of the last change of `task`. */
  readonly changedAt: string;
  readonly schemasRegistered: boolean;
  readonly partition: number;
  /** False: another replica runs the source; null until this replica has joined the group. */
  readonly owned: boolean | null;
  /** When this process got the partition; null if it does not own the partition. */
  readonly ownedAt: string | null;
  /** Why the writer of the partition was lost; null while the writer is open. */
  readonly writerTrouble: string | null;
  readonly since: string | null;
  /** True if the stream is being read now: nothing fails, and Kafka answers. */
  readonly isRead: boolean;
  /** True if the last poll reached the stream's end. Null before the first poll, and if the end was reached but polls fail now. */
  readonly caughtUp: boolean | null;
  /** The last time at which the stream was read to its end; null if never. */
  readonly caughtUpAt: string | null;
  readonly providerEndsAt: string | null;
  /** The time of the provider's first refusal of the offset; null if the offset is not refused. */
  readonly refusedAt: string | null;
  /** Seconds until the provider drops unread events, if no poll follows; null if the offset is absent or refused. */
  readonly secondsToRetentionCliff: number | null;
  readonly secondsToNextWalk: number | null;
  readonly walksWithoutDeletion: number | null;
  readonly lastPollAt: string | null;
  /** The failed poll that is retried; null after a successful poll. */
  readonly trouble: Trouble | null;
  /** A failed request of the list, while `trouble` is another one. */
  readonly otherTrouble: Trouble | null;
  /** The newest walk, of this process or the previous process; null without a walk. */
  readonly walk: WalkStatus | null;
  /** Counts since the start of this process. */
  readonly written: Written;
  /** Written events or checks in each minute, the oldest first, the current minute last; at most four hours. */
  readonly perMinute: readonly number[];
}

/** A retry ends within this time, because the request, its token and its waits have deadlines. */
export const TRIED_WITHIN_MS = 5 * 60_000;

export interface Trouble {
  readonly since: string;
  /** The retried part in words: kinds of prices, or the list. Null: the whole source or processor is retried. */
  readonly part: string | null;
  readonly failures: number;
  readonly message: string;
  /** For prices the latest time, because a kind also makes calls for other products meanwhile. */
  readonly nextTryAt: string;
  /** True if a restart ends the wait, because the wait is our own back-off and was not requested by the provider. */
  readonly restartTriesNow: boolean;
}

export interface WalkStatus {
  readonly number: number;
  /** False also while the walk is interrupted, because its source has failed or is stopped. */
  readonly running: boolean;
  readonly startedAt: string;
  /** The walk reads the list after this time, because the list may lag behind the stream; null after the first page. */
  readonly listAt: string | null;
  /** Null also if the walk was completed before the process started. */
  readonly completedAt: string | null;
  readonly pages: number;
  /** Rows that the walk has read, including rows before a restart. */
  readonly rows: number;
  /** Rows of the last known complete walk, as an estimate for this walk; null if unknown. */
  readonly expectedRows: number | null;
  readonly gone: number | null;
  /** Why an operator must confirm the deletions, in words; else null. */
  readonly refused: string | null;
}

export interface Written {
  readonly instruments: number;
  /** Events or checks of the stream. */
  readonly items: number;
  readonly deadLetters: number;
}

export type ShownKind = Omit<KindFreshness, 'ages'> & {
  readonly ages: readonly AgeStep[];
  /** The newest failed call of this kind; null if there was none in the last minute, or while Kafka is silent. */
  readonly lastFailure: { readonly at: string; readonly code: string } | null;
};
/** `unansweredInputs` and `lag` are null until all assigned partitions are read, and while Kafka is silent. */
export type ShownFreshness = Omit<Freshness, 'ages' | 'kinds' | 'unansweredInputs' | 'lag'> & {
  readonly kinds: readonly ShownKind[];
  readonly unansweredInputs: number | null;
  readonly lag: number | null;
};

export interface ProcessorStatus {
  readonly name: string;
  readonly wanted: TargetState;
  readonly task: TaskState;
  readonly trace: string | null;
  readonly changedAt: string;
  readonly partitions: readonly { readonly topic: string; readonly partition: number }[];
  /** The number of partitions that the group gave to this process. Some of these partitions may not be ready yet. */
  readonly assigned: number;
  readonly writerTrouble: string | null;
  /** Null until the instruments of a partition are known, and while the processor is paused or stopped. */
  readonly freshness: ShownFreshness | null;
  readonly lastBatchAt: string | null;
  readonly trouble: Trouble | null;
  /** Kinds of prices that fail, while the reading of instruments fails too. */
  readonly otherTrouble: Trouble | null;
  readonly written: { readonly records: number; readonly deadLetters: number; readonly deadLettersOfRepaid: number };
  readonly perMinute: readonly number[];
}
