import type { Consumer, GroupDescription } from 'kafkajs';
import type { Clock } from '../../../support/clock.ts';
import type { Log } from '../../../support/log.ts';
import type { OwnershipProof } from '../../group-reader.ts';
import type { TopicPartition } from '../../topic.ts';
import { kafkaReason } from '../kafkajs-errors.ts';
import type { KafkaTuning } from '../tuning.ts';

/** In one session timeout, `watch` calls `report` this often. */
const CHECKS_PER_SESSION = 8;

interface MemberCountOptions {
  readonly kafkajs: Pick<typeof import('kafkajs'), 'AssignerProtocol'>;
  readonly consumer: Pick<Consumer, 'on' | 'events' | 'describeGroup'>;
  readonly members: (count: number) => void;
  readonly proof: Pick<OwnershipProof, 'holdsSince'>;
  readonly tuning: Pick<KafkaTuning, 'groupSessionTimeoutMs'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/**
 * Reports how many members share a rate limit. Members without partitions send no requests to the provider, so usually
 * only members with partitions count. But an earlier owner of a partition perhaps still works. So all members count in
 * three cases: during a rebalance; for one session timeout after each join; and after half a session timeout without a
 * heartbeat. The group is described after each join, and again at each heartbeat until the group is stable.
 */
export function reportMemberCount(options: MemberCountOptions): void {
  const { kafkajs, consumer, members, proof, clock, log, signal } = options;
  const sessionMs = options.tuning.groupSessionTimeoutMs;
  /** The number of all members; 0 before the first response about the group. */
  let all = 0;
  /** The number of members that own partitions; null until the group was described after the newest join. */
  let owners: number | null = null;
  let reported = 0;
  let joins = 0;
  let joinedMs = Number.POSITIVE_INFINITY;
  let countedAtJoin = 0;
  let isAsking = false;
  let isWatching = false;

  function report(): void {
    if (all === 0 || signal.aborted) return;
    const nowMs = clock.monotonicMs();
    const isSteady = nowMs - joinedMs >= sessionMs && proof.holdsSince(nowMs - sessionMs / 2);
    const among = owners !== null && isSteady ? owners : all;
    if (among !== reported) {
      reported = among;
      members(among);
    }
    if (reported < all && !isWatching) watch().catch(() => {});
  }

  /** Notices missing heartbeats before the session times out. Then all members count, and share the rate limit. */
  async function watch(): Promise<void> {
    isWatching = true;
    for (; reported < all; report()) await clock.sleep(sessionMs / CHECKS_PER_SESSION, signal);
    isWatching = false;
  }

  async function count(): Promise<void> {
    // After the member's end, a request would open a connection that no code closes.
    if (isAsking || countedAtJoin === joins || signal.aborted) return;
    isAsking = true;
    const join = joins;
    try {
      const group = await consumer.describeGroup();
      // A response that arrives after another join must not count.
      if (join === joins) {
        const isStable = group.state === 'Stable';
        all = Math.max(1, group.members.length);
        owners = (isStable && ownersOf(group, kafkajs)) || null;
        if (isStable) countedAtJoin = join;
      }
    } catch (error) {
      log.debug({ reason: kafkaReason(error) }, 'the members of the group could not be counted yet');
    } finally {
      isAsking = false;
    }
    report();
  }

  consumer.on(consumer.events.GROUP_JOIN, () => {
    joins += 1;
    owners = null;
    joinedMs = clock.monotonicMs();
    report();
    void count();
  });
  consumer.on(consumer.events.REBALANCING, () => {
    owners = null;
    report();
  });
  consumer.on(consumer.events.HEARTBEAT, () => {
    report();
    void count();
  });
  // The membership ends, and the process may join again. Until then all members count, so that its share is not too large.
  signal.addEventListener('abort', () => {
    if (all > 0) members(all);
  });
}

function ownersOf({ members }: GroupDescription, kafkajs: MemberCountOptions['kafkajs']): number {
  return members.filter(({ memberAssignment }) => heldBy(memberAssignment, kafkajs).length > 0).length;
}

/** The partitions of a member, from the description of its group. */
export function heldBy(assignment: Buffer, { AssignerProtocol }: MemberCountOptions['kafkajs']): TopicPartition[] {
  const decoded = assignment.length > 0 ? AssignerProtocol.MemberAssignment.decode(assignment) : null;
  return listed(decoded?.assignment ?? {});
}

export function listed(assignment: Readonly<Record<string, readonly number[]>>): TopicPartition[] {
  return Object.entries(assignment).flatMap(([topic, partitions]) =>
    partitions.map((partition) => ({ topic, partition })),
  );
}
