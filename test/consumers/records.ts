import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import avsc from 'avsc';
import kafkajs from 'kafkajs';

// kafkajs knows zstd by name alone.
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
  compress: () => Promise.reject(new Error('this program only reads')),
  decompress: promisify(zstdDecompress) as (value: Buffer) => Promise<Buffer>,
});

export type Fields = Readonly<Record<string, unknown>>;

export interface Read {
  readonly key: string;
  /** Null is a tombstone: what the key stands for is gone. */
  readonly value: Fields | null;
  readonly header: (name: string) => string | undefined;
}

/** Reads a topic from its beginning, committed records alone, and goes on with what comes. */
export async function follow(
  { brokers, registry, topic, group }: { brokers: string; registry: string; topic: string; group: string },
  each: (record: Read) => void,
): Promise<void> {
  const decode = decoder(registry);
  const kafka = new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: kafkajs.logLevel.ERROR });
  const consumer = kafka.consumer({ groupId: group, readUncommitted: false });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ message: { key, value, headers } }) =>
      each({
        key: String(key),
        value: value === null ? null : await decode(value),
        header: (name) => headers?.[name]?.toString(),
      }),
  });
}

/** Each value is read with the schema whose id stands before it. */
function decoder(registry: string): (value: Buffer) => Promise<Fields> {
  const types = new Map<number, Promise<avsc.Type>>();
  const fetchType = async (id: number) => {
    const { schema } = (await (await fetch(`${registry}/schemas/ids/${id}`)).json()) as { schema: string };
    return avsc.Type.forSchema(JSON.parse(schema), {
      logicalTypes: { decimal: Decimal },
      registry: { long: exactLong },
      // Each optional field has its value itself, and not { "string": … }.
      wrapUnions: false,
    });
  };
  return async (value) => {
    const id = value.readInt32BE(1);
    const type = types.get(id) ?? fetchType(id);
    types.set(id, type);
    return (await type).fromBuffer(value.subarray(5)) as Fields;
  };
}

/** A decimal with all its digits, as text; a float would round it. */
class Decimal extends avsc.types.LogicalType {
  override _fromValue(bytes: Buffer): string {
    const whole = BigInt.asIntN(bytes.length * 8, BigInt(`0x${bytes.toString('hex') || '0'}`));
    const digits = String(whole < 0n ? -whole : whole).padStart(19, '0');
    const text = `${digits.slice(0, -18)}.${digits.slice(-18)}`.replace(/\.?0+$/, '');
    return whole < 0n ? `-${text}` : text;
  }
  override _toValue(): never {
    throw new Error('this program only reads');
  }
}

/** A long as a bigint: the id of an instrument may be larger than a number holds exactly. */
const exactLong = avsc.types.LongType.__with({
  fromBuffer: (buffer: Buffer) => buffer.readBigInt64LE(),
  toBuffer: () => Buffer.alloc(8),
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (a: bigint, b: bigint) => (a < b ? -1 : a > b ? 1 : 0),
});
