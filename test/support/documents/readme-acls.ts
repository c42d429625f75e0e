import { readFileSync } from 'node:fs';
import type { AclEntry } from 'kafkajs';
import { loadKafkajs } from '../../../src/kafka/kafkajs/kafkajs-patches.ts';
import { CONFIG_README_FILE } from './readme-tables.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = loadKafkajs();
/** A prefix ends with its separator: without, it would match another installation's names. */
const COMMAND = /^acl --([a-z-]+) structured-products([.-]) (.*)$/gm;
const OPERATIONS: Readonly<Record<string, AclEntry['operation']>> = {
  Create: AclOperationTypes.CREATE,
  DescribeConfigs: AclOperationTypes.DESCRIBE_CONFIGS,
  Read: AclOperationTypes.READ,
  Write: AclOperationTypes.WRITE,
};
const RESOURCES: Readonly<Record<string, AclEntry['resourceType']>> = {
  topic: AclResourceTypes.TOPIC,
  group: AclResourceTypes.GROUP,
  'transactional-id': AclResourceTypes.TRANSACTIONAL_ID,
};

/** The rules that the commands of config/README.md add, for one principal and prefix. */
export function readmeAcls(principal: string, prefix: string): AclEntry[] {
  const commands = [...readFileSync(CONFIG_README_FILE, 'utf8').matchAll(COMMAND)];
  if (commands.length === 0) throw new Error('config/README.md has no commands that add rules.');
  return commands.flatMap(([, resource = '', rest = '', operations = '']) =>
    operations
      .split('--operation ')
      .slice(1)
      .map((operation) => ({
        resourceType: known(RESOURCES, resource),
        resourceName: `${prefix}${rest}`,
        resourcePatternType: ResourcePatternTypes.PREFIXED,
        principal,
        host: '*',
        operation: known(OPERATIONS, operation.trim()),
        permissionType: AclPermissionTypes.ALLOW,
      })),
  );
}

function known<Value>(values: Readonly<Record<string, Value>>, name: string): Value {
  const value = values[name];
  if (value === undefined) throw new Error(`A rule of config/README.md says ${name}, which is not known.`);
  return value;
}
