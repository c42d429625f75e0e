import { pbkdf2Sync, randomBytes } from 'node:crypto';
import type { SASLOptions } from 'kafkajs';
import { askKafka, hostAndPort } from '../../../src/dev/local-stack/probes.ts';
import { loadKafkajs } from '../../../src/kafka/kafkajs/kafkajs-patches.ts';
import { eventually } from '../runner/eventually.ts';

const ALTER_USER_SCRAM_CREDENTIALS = 51;
const ITERATIONS = 4_096;
const MECHANISMS = [
  { code: 1, hash: 'sha256', bytes: 32, name: 'scram-sha-256' },
  { code: 2, hash: 'sha512', bytes: 64, name: 'scram-sha-512' },
] as const;

/**
 * Gives a user this password for both kinds of SCRAM, through a listener that wants no login; kafkajs cannot do it.
 * Resolves when a login with it is taken at the other listener: a broker answers the change before it knows of it itself.
 */
export async function setScramPassword(
  at: { readonly open: string; readonly login: string },
  user: string,
  password: string,
): Promise<void> {
  const { host, port } = hostAndPort(at.open);
  for (const { code, hash, bytes, name } of MECHANISMS) {
    const salt = randomBytes(24);
    const salted = pbkdf2Sync(password, salt, ITERATIONS, bytes, hash);
    const iterations = Buffer.alloc(4);
    iterations.writeInt32BE(ITERATIONS);
    // No tags after the header, no deletions, one change without tags, no tags at the end.
    const changes = [compact(Buffer.from(user)), Buffer.of(code), iterations, compact(salt), compact(salted)];
    const body = Buffer.concat([Buffer.of(0, 1, 2), ...changes, Buffer.of(0, 0)]);
    const change = async () => {
      const answer = await askKafka(host, port, { key: ALTER_USER_SCRAM_CREDENTIALS, version: 0, body });
      // Tags, throttle time, and an array of one result: the user and the error code.
      return answer?.readInt16BE(1 + 4 + 1 + 1 + Buffer.byteLength(user)) ?? 'no answer';
    };
    await eventually(`the broker takes the password of ${user}`, change, (error) => error === 0);
    const login = () => loginFailure(at.login, { mechanism: name, username: user, password });
    await eventually(`${user} logs in with ${name}`, login, (failure) => failure === null);
  }
}

async function loginFailure(broker: string, sasl: SASLOptions): Promise<string | null> {
  const { Kafka, logLevel } = loadKafkajs();
  const admin = new Kafka({ brokers: [broker], sasl, retry: { retries: 0 }, logLevel: logLevel.NOTHING }).admin();
  try {
    await admin.connect();
    return null;
  } catch (error) {
    return String(error);
  } finally {
    await admin.disconnect();
  }
}

/** A compact string or compact bytes: the length plus one, which is small enough for one byte here. */
function compact(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of(bytes.length + 1), bytes]);
}
