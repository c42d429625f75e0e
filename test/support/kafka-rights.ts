import type { AclEntry } from 'kafkajs';
import { loadKafkajs } from '../../src/kafka/kafkajs/kafkajs-patches.ts';
import { readmeAcls } from './documents/readme-acls.ts';
import type { SecuredKafka } from './kafka/secured-kafka.ts';
import { eventually } from './runner/eventually.ts';

/** A filter that every rule passes, by Kafka's numbers for "any". */
const ANY = { resourceType: 1, resourcePatternType: 1, operation: 1, permissionType: 1 };

const { Kafka, logLevel, ...types } = loadKafkajs();
const { GROUP, TOPIC, TRANSACTIONAL_ID } = types.AclResourceTypes;
const { READ, WRITE, CREATE, DESCRIBE_CONFIGS } = types.AclOperationTypes;

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
