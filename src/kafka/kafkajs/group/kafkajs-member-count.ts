import type { Consumer, GroupDescription } from 'kafkajs';
import type { Clock } from '../../../support/clock.ts';
import type { Log } from '../../../support/log.ts';
import { MemberShare } from '../../member-share.ts';
import type { OwnershipProof } from '../../ownership-proof.ts';
import { kafkaReason } from '../kafkajs-errors.ts';
import type { KafkaTuning } from '../tuning.ts';

/** A member that is cut off is noticed so often within a session, beside the half of it that must have passed. */
const LOOKS_PER_SESSION = 8;

export interface MemberCountOptions {
  readonly kafkajs: Pick<typeof import('kafkajs'), 'AssignerProtocol'>;
  readonly consumer: Pick<Consumer, 'on' | 'events' | 'describeGroup'>;
  /** Called with each new number of members that share a limit; see member-share.ts. */
  readonly members: (count: number) => void;
  readonly proof: Pick<OwnershipProof, 'holdsSince'>;
  readonly tuning: Pick<KafkaTuning, 'groupSessionTimeoutMs'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the member has ended. */
  readonly signal: AbortSignal;
}

/**
 * Reports among how many members of its group a member shares a limit. Only the leader learns from the join who there
 * is, so the group is asked after each. Where that fails it is asked again with the next heartbeat, until it answers.
 */
export function reportMemberCount(options: MemberCountOptions): void {
  const { kafkajs, consumer, members, proof, clock, log, signal } = options;
  const sessionMs = options.tuning.groupSessionTimeoutMs;
  const share = new MemberShare(sessionMs, proof);
  /** 0 before the group has answered. */
  let reported = 0;
  let isCounted = false;
  let joins = 0;
  let countedAtJoin = 0;
  let isAsking = false;
  let isWatching = false;

  function report(): void {
    const among = share.among(clock.monotonicMs());
    if (!isCounted || signal.aborted) return;
    if (among !== reported) {
      reported = among;
      members(among);
    }
    if (reported < share.all && !isWatching) watch().catch(() => {});
  }

  /** A larger share than that of all must end in time without any event. A member that is alone has no larger one. */
  async function watch(): Promise<void> {
    isWatching = true;
    for (; reported < share.all; report()) await clock.sleep(sessionMs / LOOKS_PER_SESSION, signal);
    isWatching = false;
  }

  async function count(): Promise<void> {
    // A member that has ended would connect again, and nothing would close that connection.
    if (isAsking || countedAtJoin === joins || signal.aborted) return;
    isAsking = true;
    const join = joins;
    try {
      const group = await consumer.describeGroup();
      // Another join came meanwhile: its own request follows, and this response must not count for it.
      if (join === joins) {
        const isStable = group.state === 'Stable';
        share.counted(group.members.length, isStable ? ownersOf(group, kafkajs) : null);
        isCounted = true;
        if (isStable) countedAtJoin = join;
      }
    } catch (error) {
      log.debug({ reason: kafkaReason(error) }, 'the members of the group could not be counted; it is asked again');
    } finally {
      isAsking = false;
    }
    report();
  }

  consumer.on(consumer.events.GROUP_JOIN, () => {
    joins += 1;
    share.joined(clock.monotonicMs());
    report();
    void count();
  });
  consumer.on(consumer.events.REBALANCING, () => {
    share.rebalances();
    report();
  });
  consumer.on(consumer.events.HEARTBEAT, () => {
    report();
    void count();
  });
  // The next member of this process begins with the share of all until its group has answered.
  signal.addEventListener('abort', () => {
    if (isCounted) members(share.all);
  });
}

/** The members that were given a partition. */
function ownersOf({ members }: GroupDescription, { AssignerProtocol }: MemberCountOptions['kafkajs']): number {
  const isOwner = ({ memberAssignment }: GroupDescription['members'][number]) => {
    const assigned = memberAssignment.length > 0 ? AssignerProtocol.MemberAssignment.decode(memberAssignment) : null;
    return Object.values(assigned?.assignment ?? {}).some((partitions) => partitions.length > 0);
  };
  return members.filter(isOwner).length;
}
