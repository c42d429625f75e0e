import type { PartitionAssigner } from 'kafkajs';
import type { Assignor } from '../../assignor.ts';

type Kafkajs = typeof import('kafkajs');

const VERSION = 1;

/** An assignor in the form of kafkajs: descriptions travel as the members' user data. */
export function kafkajsAssignor(
  { AssignerProtocol }: Kafkajs,
  assignor: Assignor,
  wasForgotten: () => boolean,
): PartitionAssigner {
  const { MemberMetadata, MemberAssignment } = AssignerProtocol;
  const { name } = assignor;
  return () => ({
    name,
    version: VERSION,
    protocol: ({ topics }) => ({
      name,
      metadata: MemberMetadata.encode({
        version: VERSION,
        topics,
        userData: Buffer.from(assignor.describe(wasForgotten())),
      }),
    }),
    assign: async ({ members }) => {
      const described = members.map(({ memberId, memberMetadata }) => {
        return { id: memberId, description: String(MemberMetadata.decode(memberMetadata)?.userData ?? '') };
      });
      const shares = assignor.assign(described);
      return members.map(({ memberId }) => {
        const assignment = Object.groupBy(shares.get(memberId) ?? [], ({ topic }) => topic);
        return {
          memberId,
          memberAssignment: MemberAssignment.encode({
            version: VERSION,
            assignment: Object.fromEntries(
              Object.entries(assignment).map(([topic, held = []]) => [topic, held.map(({ partition }) => partition)]),
            ),
            userData: Buffer.alloc(0),
          }),
        };
      });
    },
  });
}
