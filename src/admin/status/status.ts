import type { SourceSettings } from '../../config/settings.ts';
import type { DescribedMember } from '../../kafka/cluster.ts';
import type { Freshness, KindFreshness, NOTIFICATION_KINDS } from '../../observe/events.ts';
import type { TargetState } from '../../worker/target.ts';
import type { AgeStep } from '../drawing/charts.ts';

/** How this process is, as JSON at `/status.json` and as the status page. Instants are ISO 8601, in UTC. */
export interface Status {
  readonly version: string;
  readonly prefix: string;
  readonly kafkaClusterId: string | null;
  readonly at: string;
  readonly startedAt: string;
  /** Every check is fine: fences, offsets, schemas and topics are proven, and nothing has failed. */
  readonly ready: boolean;
  readonly checks: readonly ReadinessCheck[];
  readonly alarms: readonly Alarm[];
  /** Since a broker has answered, or since the start when none has yet. */
  readonly kafkaSilentSeconds: number;
  /** Silent for longer than any request of a healthy process waits. */
  readonly kafkaIsSilent: boolean;
  readonly sources: readonly SourceStatus[];
  readonly processor: ProcessorStatus | null;
  /** The newest records that went to the notifications topic from here, the newest first. */
  readonly notifications: readonly Notified[];
}

export interface Whole {
  /** Those that run sources, with their partitions of the offsets topic; null while the group rebalances. */
  readonly sources: readonly DescribedMember[] | null;
  /** Those that price, with their partitions of instruments topics; null while the group rebalances. */
  readonly prices: readonly DescribedMember[] | null;
  readonly pricedPartitions: number;
  /** The committed offset of each source in its stream; empty where there is a single replica. */
  readonly offsets: Readonly<Record<string, string | null>>;
  /** When the newest price of each partition was written, by partition; empty where there is a single replica. */
  readonly newestPrices: Readonly<Record<number, string>>;
}

/** With the other replicas; null where Kafka has not said lately which there are. */
export interface WholeStatus extends Status {
  readonly whole: Whole | null;
}

export interface Alarm {
  /** It needs an operator, or stops all; otherwise it is tried again. */
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
  readonly kind: (typeof NOTIFICATION_KINDS)[number] | 'walkCompleted' | 'sourceFailed';
  /** The event, and the operator's next step. */
  readonly text: string;
}

/** `unassigned`: it has not started, is stopped, or runs in another process. */
export type TaskState = 'unassigned' | 'running' | 'paused' | 'failed';

export interface SourceStatus {
  readonly name: string;
  readonly type: SourceSettings['type'];
  readonly wanted: TargetState;
  readonly task: TaskState;
  readonly trace: string | null;
  /** Since when the task is what it is. */
  readonly changedAt: string;
  readonly schemasRegistered: boolean;
  readonly partition: number;
  /** False: another replica runs it; null until this one has joined the others. */
  readonly owned: boolean | null;
  /** Why the writer of the partition was lost and is not open again yet; null when it is. */
  readonly writerTrouble: string | null;
  readonly since: string | null;
  /** Its stream is being read now: nothing fails, and Kafka answers. */
  readonly isRead: boolean;
  /** The stream has no more for us; null where that is not known now. Behind stays behind while nothing is read. */
  readonly caughtUp: boolean | null;
  /** When the stream was last seen to have no more; null when it never was. */
  readonly caughtUpAt: string | null;
  readonly providerEndsAt: string | null;
  /** Since when the provider refuses the offset; null where it does not. */
  readonly refusedAt: string | null;
  /** Until the provider drops events that we have not read, were no poll answered any more; null without an offset, and while it is refused. */
  readonly secondsToRetentionCliff: number | null;
  readonly secondsToNextWalk: number | null;
  readonly walksWithoutDeletion: number | null;
  readonly lastPollAt: string | null;
  /** The failed poll that is being tried again; null when the last one was answered. */
  readonly trouble: Trouble | null;
  /** The newest walk, of this process or of the one before; null when there was none, or the source has none. */
  readonly walk: WalkStatus | null;
  /** Counts since the start of this process. */
  readonly written: Written;
  /** Events or checks written in each minute, the oldest first, the last one under way; at most four hours. */
  readonly perMinute: readonly number[];
}

export interface Trouble {
  readonly since: string;
  /** The only kind of prices, or of polls, that is retried while the others go on; null: all are. */
  readonly only: string | null;
  readonly failures: number;
  readonly message: string;
  readonly nextTryAt: string;
}

export interface WalkStatus {
  readonly number: number;
  /** False also for one that is interrupted since its source has failed or was stopped. */
  readonly running: boolean;
  readonly startedAt: string;
  /** Until then it waits for a list that may lag the stream; null once it has a page. */
  readonly listAt: string | null;
  /** Null also where it was completed before the process started. */
  readonly completedAt: string | null;
  readonly pages: number;
  /** Rows that were read of it; those before a restart are counted too. */
  readonly rows: number;
  /** Rows of the last whole walk that is known: how many there will be, about. */
  readonly expectedRows: number | null;
  readonly gone: number | null;
}

export interface Written {
  readonly instruments: number;
  /** Events or checks of the stream. */
  readonly items: number;
  readonly deadLetters: number;
}

export type ShownKind = Omit<KindFreshness, 'ages'> & { readonly ages: readonly AgeStep[] };
/** The last two are null while the processor is no member of its group, or Kafka does not answer. */
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
  /** How many partitions the group has given to this process; those that are not priced yet are being fenced and read. */
  readonly assigned: number;
  readonly writerTrouble: string | null;
  /** Null until the instruments of a partition are known, and while an operator has it rest. */
  readonly freshness: ShownFreshness | null;
  readonly lastBatchAt: string | null;
  readonly trouble: Trouble | null;
  readonly written: { readonly records: number; readonly deadLetters: number; readonly deadLettersOfRepaid: number };
  /** Prices, as for a source. */
  readonly perMinute: readonly number[];
}
