import type { Consumer } from 'kafkajs';
import type { Log } from '../../../support/log.ts';
import { kafkaReason } from '../kafkajs-errors.ts';

/**
 * Reports after each join of the member how many members its group has, itself included. Only the leader learns that
 * from the join, so the group is asked. After a failure it is asked again with the next heartbeat, until it answers.
 */
export function tellMemberCount(consumer: Consumer, members: (count: number) => void, log: Log): void {
  let joins = 0;
  let countedAtJoin = 0;
  let isAsking = false;

  async function count(): Promise<void> {
    if (isAsking || countedAtJoin === joins) return;
    isAsking = true;
    const join = joins;
    try {
      const group = await consumer.describeGroup();
      // Another join came meanwhile: its own request follows, and this response must not count for it.
      if (join === joins) {
        members(Math.max(1, group.members.length));
        countedAtJoin = join;
      }
    } catch (error) {
      log.debug({ reason: kafkaReason(error) }, 'the members of the group could not be counted; it is asked again');
    } finally {
      isAsking = false;
    }
  }

  consumer.on(consumer.events.GROUP_JOIN, () => {
    joins += 1;
    void count();
  });
  consumer.on(consumer.events.HEARTBEAT, () => void count());
}
