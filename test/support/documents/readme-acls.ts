import { readFileSync } from 'node:fs';
import type { AclEntry } from 'kafkajs';
import { loadKafkajs } from '../../../src/kafka/kafkajs/kafkajs-patches.ts';
import { CONFIG_README_FILE } from './readme-tables.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = loadKafkajs();
const HEAD = '| resource | name begins with | operations |';
const OPERATIONS: Readonly<Record<string, AclEntry['operation']>> = {
  Create: AclOperationTypes.CREATE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
};
const RESOURCES: Readonly<Record<string, AclEntry['resourceType']>> = {
  Topic: AclResourceTypes.TOPIC,
  Group: AclResourceTypes.GROUP,
  TransactionalId: AclResourceTypes.TRANSACTIONAL_ID,
};

/** The rules that config/README.md says are enough, for one principal and prefix. */
export function readmeAcls(principal: string, prefix: string): AclEntry[] {
  const table = readFileSync(CONFIG_README_FILE, 'utf8').split(HEAD)[1]?.split('\n\n')[0];
  if (table === undefined) throw new Error(`config/README.md has no table "${HEAD}".`);
  return table
    .split('\n')
    .slice(2)
    .flatMap((row) => {
      const [, resource = '', name = '', operations = ''] = row.split('|').map((cell) => cell.trim());
      return operations.split(', ').map((operation) => ({
        resourceType: known(RESOURCES, resource),
        resourceName: name.replaceAll('`', '').replace('<prefix>', prefix),
        resourcePatternType: ResourcePatternTypes.PREFIXED,
        principal,
        host: '*',
        operation: known(OPERATIONS, operation),
        permissionType: AclPermissionTypes.ALLOW,
      }));
    });
}

function known<Value>(values: Readonly<Record<string, Value>>, name: string): Value {
  const value = values[name];
  if (value === undefined) throw new Error(`The table of rules in config/README.md says ${name}, which is not known.`);
  return value;
}
