import { ConnectorError } from '../errors.ts';
import type { TopicSpecification } from './topic.ts';

export interface FoundTopic {
  readonly partitions: number;
  readonly replicas: number;
  readonly settings: ReadonlyMap<string, string>;
}

/** Returns the differences as sentences. @throws TOPIC_MISMATCH if a difference would lose or misplace records. */
export function compareTopic(wanted: TopicSpecification, found: FoundTopic): string[] {
  const { name } = wanted;
  const mismatches: string[] = [];
  if (found.partitions !== wanted.partitions) {
    mismatches.push(
      `Topic ${name} has ${found.partitions} partitions, but the connector expects ${wanted.partitions}. ` +
        `If this is a topic of instruments, events, checks or prices, and all of these have ${found.partitions}, set ` +
        `topics.partitions to ${found.partitions}. Otherwise delete this topic (kafka-topics.sh --bootstrap-server <broker> --delete --topic ${name}) and create ` +
        'it again (`spconnect topics create`), or name another topic: after partitions are added, the records of a key may be in two ' +
        'partitions. A walk fills an instruments topic again, and refreshes fill a prices topic again, a series only for its lookBack. All ' +
        'other records are lost.',
    );
  }
  const wantedPolicy = wanted.settings['cleanup.policy'];
  const foundPolicy = found.settings.get('cleanup.policy') ?? '';
  if (wantedPolicy !== undefined && policySet(wantedPolicy) !== policySet(foundPolicy)) {
    mismatches.push(
      `Topic ${name} has cleanup.policy=${foundPolicy} and needs ${wantedPolicy}. Change this setting with: ` +
        `kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics --entity-name ${name} --add-config ` +
        `cleanup.policy=[${wantedPolicy}], or name another topic.`,
    );
  }
  if (mismatches.length > 0)
    throw new ConnectorError('TOPIC_MISMATCH', mismatches.join(' '), { fields: { topic: name } });
  const warnings = Object.entries(wanted.settings)
    .filter(
      ([setting, value]) => setting !== 'cleanup.policy' && !isEnough(setting, found.settings.get(setting), value),
    )
    .map(([setting, value]) => {
      const has = found.settings.get(setting) ?? 'nothing';
      return (
        `Topic ${name} has ${setting}=${has}, but the connector needs ${value}. The topic stays as it is. ` +
        `Change the setting with: kafka-configs.sh --bootstrap-server <broker> --alter --entity-type topics --entity-name ${name} ` +
        `--add-config ${setting}=${value}`
      );
    });
  if (found.replicas !== wanted.replicationFactor) {
    warnings.push(
      `Topic ${name} has ${found.replicas} replicas, but topics.replicationFactor is ${wanted.replicationFactor}. ` +
        'The topic stays as it is. Change the topic with kafka-reassign-partitions.sh, or set ' +
        `topics.replicationFactor to ${found.replicas}.`,
    );
  }
  return warnings;
}

/** Operators may raise the size limit of a topic. All other values must be equal. */
function isEnough(setting: string, found: string | undefined, wanted: string): boolean {
  return found === wanted || (setting === 'max.message.bytes' && Number(found) > Number(wanted));
}

/** `compact,delete` and `delete,compact` are the same policy. */
function policySet(policy: string): string {
  return policy
    .split(',')
    .map((part) => part.trim())
    .sort()
    .join(',');
}
