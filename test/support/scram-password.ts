import { pbkdf2Sync, randomBytes } from 'node:crypto';
import { askKafka } from '../../src/demo/kafka-requests.ts';
import { hostAndPort } from '../../src/demo/probes.ts';

const ALTER_USER_SCRAM_CREDENTIALS = 51;
const ITERATIONS = 4_096;
const MECHANISMS = [
  { code: 1, hash: 'sha256', bytes: 32 },
  { code: 2, hash: 'sha512', bytes: 64 },
] as const;

/** Gives a user this password for both kinds of SCRAM, through a listener that wants no login. kafkajs cannot do it. */
export async function setScramPassword(broker: string, user: string, password: string): Promise<void> {
  const { host, port } = hostAndPort(broker);
  for (const { code, hash, bytes } of MECHANISMS) {
    const salt = randomBytes(24);
    const salted = pbkdf2Sync(password, salt, ITERATIONS, bytes, hash);
    const iterations = Buffer.alloc(4);
    iterations.writeInt32BE(ITERATIONS);
    // No tags after the header, no deletions, one change without tags, no tags at the end.
    const change = [compact(Buffer.from(user)), Buffer.of(code), iterations, compact(salt), compact(salted)];
    const body = Buffer.concat([Buffer.of(0, 1, 2), ...change, Buffer.of(0, 0)]);
    const answer = await askKafka(host, port, { key: ALTER_USER_SCRAM_CREDENTIALS, version: 0, body });
    // Tags, throttle time, and an array of one result: the user and the error code.
    const error = answer?.readInt16BE(1 + 4 + 1 + 1 + Buffer.byteLength(user));
    if (error !== 0) throw new Error(`The broker did not take the password of ${user} (error ${error}).`);
  }
}

/** A compact string or compact bytes: the length plus one, which is small enough for one byte here. */
function compact(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of(bytes.length + 1), bytes]);
}
