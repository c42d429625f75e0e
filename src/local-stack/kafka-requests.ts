import { connect } from 'node:net';

const ANSWER_LIMIT_MS = 2_000;
const MAXIMUM_ANSWER_BYTES = 65_536;
const CORRELATION_ID = 7;

/** One request of Kafka's protocol, in a version whose header has no tagged fields. */
export interface KafkaRequest {
  readonly key: number;
  readonly version: number;
  readonly body: Buffer;
}

/**
 * Sends one request over a connection of its own.
 *
 * @returns the answer's body, behind the correlation id; undefined when there is none in time. Never rejects.
 */
export function askKafka(host: string, port: number, request: KafkaRequest): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: ANSWER_LIMIT_MS });
    let answer = Buffer.alloc(0);
    const finish = (body?: Buffer) => {
      socket.destroy();
      resolve(body);
    };
    for (const event of ['error', 'timeout', 'close']) socket.once(event, () => finish());
    socket.once('connect', () => socket.write(frame(request)));
    socket.on('data', (chunk) => {
      answer = Buffer.concat([answer, chunk]);
      const length = answer.length < 4 ? MAXIMUM_ANSWER_BYTES : answer.readInt32BE(0);
      if (answer.length > MAXIMUM_ANSWER_BYTES) finish();
      else if (answer.length >= 4 + length) finish(bodyOf(answer));
    });
  });
}

/** Length, key, version, our id, and no name of a client; then the body. */
function frame({ key, version, body }: KafkaRequest): Buffer {
  const header = Buffer.alloc(14);
  header.writeInt32BE(10 + body.length, 0);
  header.writeInt16BE(key, 4);
  header.writeInt16BE(version, 6);
  header.writeInt32BE(CORRELATION_ID, 8);
  header.writeInt16BE(-1, 12);
  return Buffer.concat([header, body]);
}

function bodyOf(answer: Buffer): Buffer | undefined {
  return answer.length > 8 && answer.readInt32BE(4) === CORRELATION_ID ? answer.subarray(8) : undefined;
}

/** A text as Kafka's protocol has it: two bytes of length, then UTF-8. */
export function kafkaString(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(2);
  length.writeInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
