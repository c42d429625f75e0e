import { ConnectorError } from '../errors.ts';
import type { TopicSpecification } from './topic.ts';

export interface FoundTopic {
  readonly partitions: number;
  readonly replicas: number;
  readonly settings: ReadonlyMap<string, string>;
}

/** Returns differences as sentences. @throws ConnectorError TOPIC_MISMATCH if one would lose or misplace records. */
export function compareTopic(wanted: TopicSpecification, found: FoundTopic): string[] {
  const { name } = wanted;
  if (found.partitions !== wanted.partitions) {
    throw new ConnectorError(
      'TOPIC_MISMATCH',
      `Topic ${name} has ${found.partitions} partitions, and ${wanted.partitions} are configured. Set that number, ` +
        `name another topic, or delete the topic: kafka-topics.sh --delete --topic ${name}. Then a walk fills an instruments ` +
        'topic again at once, and refreshes fill a prices topic; all other records are lost. Do not add partitions: every ' +
        'key would move.',
      { fields: { topic: name, wanted: wanted.partitions, found: found.partitions } },
    );
  }
  const wantedPolicy = wanted.settings['cleanup.policy'];
  const foundPolicy = found.settings.get('cleanup.policy') ?? '';
  if (wantedPolicy !== undefined && policySet(wantedPolicy) !== policySet(foundPolicy)) {
    throw new ConnectorError(
      'TOPIC_MISMATCH',
      `Topic ${name} has cleanup.policy=${foundPolicy} and needs ${wantedPolicy}. Change it with: kafka-configs.sh --alter ` +
        `--entity-type topics --entity-name ${name} --add-config cleanup.policy=[${wantedPolicy}], or name another topic.`,
      { fields: { topic: name, wanted: wantedPolicy, found: foundPolicy } },
    );
  }
  const warnings = Object.entries(wanted.settings)
    .filter(([setting, value]) => setting !== 'cleanup.policy' && found.settings.get(setting) !== value)
    .map(([setting, value]) => {
      const has = found.settings.get(setting) ?? 'nothing';
      return (
        `Topic ${name} has ${setting}=${has}, and the connector wants ${value}. It changes nothing; change it with: ` +
        `kafka-configs.sh --alter --entity-type topics --entity-name ${name} --add-config ${setting}=${value}`
      );
    });
  if (found.replicas !== wanted.replicationFactor) {
    warnings.push(
      `Topic ${name} has ${found.replicas} replicas, and the connector wants ${wanted.replicationFactor}. It changes nothing. ` +
        'Change it with kafka-reassign-partitions.sh, or set topics.replicationFactor to the number that it has.',
    );
  }
  return warnings;
}

/** `compact,delete` and `delete,compact` are the same policy. */
function policySet(policy: string): string {
  return policy
    .split(',')
    .map((part) => part.trim())
    .sort()
    .join(',');
}
