import { readFileSync } from 'node:fs';
import type { AclEntry } from 'kafkajs';
import { loadKafkajs } from '../../../src/kafka/kafkajs/kafkajs-patches.ts';
import { CONFIG_README_FILE } from '../documents/readme-tables.ts';
import { eventually } from '../runner/eventually.ts';
import type { SecuredKafka } from './secured-kafka.ts';

/** A filter that every rule passes, by Kafka's numbers for "any". */
const ANY = { resourceType: 1, resourcePatternType: 1, operation: 1, permissionType: 1 };

const { Kafka, logLevel, ...types } = loadKafkajs();
const { GROUP, TOPIC, TRANSACTIONAL_ID } = types.AclResourceTypes;
const { READ, WRITE, CREATE, DESCRIBE_CONFIGS } = types.AclOperationTypes;

/** A prefix ends with its separator: without, it would match another installation's names. */
const COMMAND = /^acl --([a-z-]+) structured-products([.-]) (.*)$/gm;
const OPERATIONS: Readonly<Record<string, AclEntry['operation']>> = {
  Create: CREATE,
  DescribeConfigs: DESCRIBE_CONFIGS,
  Read: READ,
  Write: WRITE,
};
const RESOURCES: Readonly<Record<string, AclEntry['resourceType']>> = {
  topic: TOPIC,
  group: GROUP,
  'transactional-id': TRANSACTIONAL_ID,
};

/** The rules that the commands of config/README.md add, for one principal and prefix. */
function readmeAcls(principal: string, prefix: string): AclEntry[] {
  const commands = [...readFileSync(CONFIG_README_FILE, 'utf8').matchAll(COMMAND)];
  if (commands.length === 0) throw new Error('config/README.md has no commands that add rules.');
  return commands.flatMap(([, resource = '', rest = '', operations = '']) =>
    operations
      .split('--operation ')
      .slice(1)
      .map((operation) => ({
        resourceType: known(RESOURCES, resource),
        resourceName: `${prefix}${rest}`,
        resourcePatternType: types.ResourcePatternTypes.PREFIXED,
        principal,
        host: '*',
        operation: known(OPERATIONS, operation.trim()),
        permissionType: types.AclPermissionTypes.ALLOW,
      })),
  );
}

function known<Value>(values: Readonly<Record<string, Value>>, name: string): Value {
  const value = values[name];
  if (value === undefined) throw new Error(`A rule of config/README.md says ${name}, which is not known.`);
  return value;
}

/** What may be denied. */
export const DENIED = {
  writeTo: { resourceType: TOPIC, operation: WRITE },
  create: { resourceType: TOPIC, operation: CREATE },
  describeConfigs: { resourceType: TOPIC, operation: DESCRIBE_CONFIGS },
  join: { resourceType: GROUP, operation: READ },
  writeAs: { resourceType: TRANSACTIONAL_ID, operation: WRITE },
} as const;

/** Gives the rights of the README for one prefix; resolves when the broker goes by them. */
export async function allow(kafka: SecuredKafka, principal: string, prefix: string): Promise<void> {
  await addRules(kafka, readmeAcls(principal, prefix), principal, prefix);
}

/** Takes a right for one name, of a topic, group or transactional id; resolves when the broker knows. */
export async function deny(
  kafka: SecuredKafka,
  principal: string,
  name: string,
  what: (typeof DENIED)[keyof typeof DENIED],
): Promise<void> {
  const rule = {
    ...what,
    resourceName: name,
    resourcePatternType: types.ResourcePatternTypes.LITERAL,
    principal,
    host: '*',
    permissionType: types.AclPermissionTypes.DENY,
  };
  await addRules(kafka, [rule], principal, name);
}

/** The broker answers before it knows of the rules itself. */
async function addRules(kafka: SecuredKafka, acl: AclEntry[], principal: string, about: string): Promise<void> {
  const admin = new Kafka({ brokers: [kafka.open], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const known = async () => {
      const { resources } = await admin.describeAcls({ ...ANY, principal });
      return resources.filter(({ resourceName }) => resourceName.startsWith(about)).flatMap(({ acls }) => acls).length;
    };
    const before = await known();
    await admin.createAcls({ acl });
    await eventually('the broker knows the rules', known, (count) => count === before + acl.length);
  } finally {
    await admin.disconnect();
  }
}
