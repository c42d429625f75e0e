import { connect } from 'node:net';

const RESPONSE_LIMIT_MS = 2_000;
const MAXIMUM_RESPONSE_BYTES = 65_536;
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
 * @returns the response's body, behind the correlation id; undefined when there is none in time. Never rejects.
 */
export function askKafka(host: string, port: number, request: KafkaRequest): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: RESPONSE_LIMIT_MS });
    let response = Buffer.alloc(0);
    const finish = (body?: Buffer) => {
      socket.destroy();
      resolve(body);
    };
    for (const event of ['error', 'timeout', 'close']) socket.once(event, () => finish());
    socket.once('connect', () => socket.write(frame(request)));
    socket.on('data', (chunk) => {
      response = Buffer.concat([response, chunk]);
      const length = response.length < 4 ? MAXIMUM_RESPONSE_BYTES : response.readInt32BE(0);
      if (response.length > MAXIMUM_RESPONSE_BYTES) finish();
      else if (response.length >= 4 + length) finish(bodyOf(response));
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

function bodyOf(response: Buffer): Buffer | undefined {
  return response.length > 8 && response.readInt32BE(4) === CORRELATION_ID ? response.subarray(8) : undefined;
}

/** A text as Kafka's protocol has it: two bytes of length, then UTF-8. */
export function kafkaString(text: string): Buffer {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(2);
  length.writeInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
