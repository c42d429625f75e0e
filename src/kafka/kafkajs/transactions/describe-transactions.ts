import { FRAME_ROOM_BYTES, FramedRequest } from '../produce/request-frame.ts';

/*
 * DescribeTransactions, version 0 (brokers from 3.0), for one transactional id; kafkajs does not have it. In its flexible
 * format a length is an unsigned varint and one more than it says, and each structure ends with its tagged fields.
 */

export const DESCRIBE_TRANSACTIONS = 65;

/** The last transaction of a transactional id, as its coordinator knows it. */
export interface DescribedTransaction {
  readonly errorCode: number;
  /** Such as Ongoing, PrepareCommit, CompleteCommit, CompleteAbort; empty with an error. */
  readonly state: string;
}

const NO_TAGGED_FIELDS = 0;

export function encodeDescribeTransactions(transactionalId: string): FramedRequest {
  const id = Buffer.from(transactionalId, 'utf8');
  const body = Buffer.concat([
    // The end of the frame in front.
    Buffer.of(NO_TAGGED_FIELDS),
    unsignedVarint(2),
    unsignedVarint(id.length + 1),
    id,
    Buffer.of(NO_TAGGED_FIELDS),
  ]);
  return new FramedRequest(Buffer.concat([Buffer.alloc(FRAME_ROOM_BYTES), body]), FRAME_ROOM_BYTES + body.length);
}

/** @throws RangeError when the response ends too early. */
export function decodeDescribeTransactions(response: Buffer): DescribedTransaction {
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = response.readUInt8(at++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const text = () => {
    const length = number() - 1;
    at += length;
    if (at > response.length) throw new RangeError('The response to DescribeTransactions ends within a text');
    return response.toString('utf8', at - length, at);
  };
  for (let fields = number(); fields > 0; fields--) {
    number();
    const bytes = number();
    at += bytes;
  }
  // The throttle time.
  at += 4;
  if (number() !== 2) throw new RangeError('The response to DescribeTransactions is not about one transactional id');
  const errorCode = response.readInt16BE(at);
  at += 2;
  text();
  return { errorCode, state: text() };
}

function unsignedVarint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.of(...bytes, rest);
}
