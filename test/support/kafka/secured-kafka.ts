import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { BrokerSettings, NodeAddress } from '../../../src/dev/local-stack/broker-settings.ts';
import { freePorts } from '../../../src/dev/local-stack/free-ports.ts';
import { type Certificate, type Certificates, makeCertificates } from '../../security/certificates.ts';
import { temporaryFolder } from '../runner/temporary-folder.ts';
import { PATIENT_BROKER } from './patient-broker.ts';
import { setScramPassword } from './scram-password.ts';
import { ownKafkaOrSkip } from './stack.ts';

export const USER = 'connector';
export const PASSWORD = 'canary-of-kafka';

/** One listener for each way to connect; those below with a certificate that nobody should accept. */
const LISTENERS = ['TLS', 'MUTUAL', 'LOGIN', 'CLEAR', 'OTHERHOST', 'EXPIRED', 'SELFSIGNED'] as const;
type Listener = (typeof LISTENERS)[number];

/** A broker that wants TLS, a client's certificate or a login, and that lets nobody do what no rule allows. */
export interface SecuredKafka {
  /** host:port of each listener. */
  readonly at: Readonly<Record<Listener, string>>;
  /** Without TLS and login: every client here may do everything. */
  readonly open: string;
  readonly files: { readonly ca: string; readonly cert: string; readonly key: string };
}

/** The broker, stopped after the test; undefined where none can be started. */
export async function securedKafkaOrSkip(t: TestContext): Promise<SecuredKafka | undefined> {
  const certificates = makeCertificates();
  const folder = temporaryFolder(t);
  const files = await writeFiles(folder, certificates);
  const ports = await freePorts(LISTENERS.length);
  const at = Object.fromEntries(LISTENERS.map((name, index) => [name, `127.0.0.1:${ports[index]}`]));
  const kafka = await ownKafkaOrSkip(t, {
    settings: (node) => ({ ...PATIENT_BROKER, ...securitySettings(node, at, folder, files.ca) }),
  });
  if (kafka === undefined) return undefined;
  const open = kafka.brokers[0] ?? '';
  await setScramPassword({ open, login: at.CLEAR ?? '' }, USER, PASSWORD);
  return { at: at as Record<Listener, string>, open, files };
}

async function writeFiles(folder: string, certificates: Certificates): Promise<SecuredKafka['files']> {
  const { ca, client, good, otherHost, expired, selfSigned } = certificates;
  const write = async (name: string, text: string) => {
    await writeFile(join(folder, name), text);
    return join(folder, name);
  };
  const whole = ({ cert, key }: Certificate) => `${key}${cert}`;
  await write('good.pem', whole(good));
  await write('OTHERHOST.pem', whole(otherHost));
  await write('EXPIRED.pem', whole(expired));
  await write('SELFSIGNED.pem', whole(selfSigned));
  return {
    ca: await write('ca.pem', ca),
    cert: await write('client.crt', client.cert),
    key: await write('client.key', client.key),
  };
}

function securitySettings(
  { listener, controller }: NodeAddress,
  at: Readonly<Record<string, string>>,
  folder: string,
  ca: string,
): BrokerSettings {
  const own = Object.entries(at).map(([name, address]) => `${name}://${address}`);
  const protocols = { TLS: 'SSL', MUTUAL: 'SSL', LOGIN: 'SASL_SSL', CLEAR: 'SASL_PLAINTEXT' } as Record<string, string>;
  const map = Object.keys(at).map((name) => `${name}:${protocols[name] ?? 'SSL'}`);
  const certificateOf = (name: string) => (name in protocols ? 'good' : name);
  const perListener = Object.keys(at).flatMap((name): [string, string][] => {
    const prefix = `listener.name.${name.toLowerCase()}`;
    return [
      [`${prefix}.ssl.keystore.type`, 'PEM'],
      [`${prefix}.ssl.keystore.location`, join(folder, `${certificateOf(name)}.pem`)],
      [`${prefix}.ssl.truststore.type`, 'PEM'],
      [`${prefix}.ssl.truststore.location`, ca],
      [`${prefix}.sasl.enabled.mechanisms`, 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512'],
      [
        `${prefix}.plain.sasl.jaas.config`,
        `org.apache.kafka.common.security.plain.PlainLoginModule required user_${USER}="${PASSWORD}" user_stranger="x";`,
      ],
      ...['scram-sha-256', 'scram-sha-512'].map((mechanism): [string, string] => [
        `${prefix}.${mechanism}.sasl.jaas.config`,
        'org.apache.kafka.common.security.scram.ScramLoginModule required;',
      ]),
    ];
  });
  return {
    listeners: [`PLAINTEXT://${listener}`, `CONTROLLER://${controller}`, ...own].join(','),
    'advertised.listeners': [`PLAINTEXT://${listener}`, ...own].join(','),
    'listener.security.protocol.map': ['PLAINTEXT:PLAINTEXT', 'CONTROLLER:PLAINTEXT', ...map].join(','),
    ...Object.fromEntries(perListener),
    'listener.name.mutual.ssl.client.auth': 'required',
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    'super.users': 'User:ANONYMOUS',
  };
}
