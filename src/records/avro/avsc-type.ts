import avsc from 'avsc';

/** Creates the avsc type of a schema. Longs may be bigints or safe integers. The callers convert logical types. */
export function avscType(schemaText: string): avsc.Type {
  const long = exactLong();
  return avsc.Type.forSchema(JSON.parse(schemaText), {
    registry: { long },
    // For a long with a logical type, avsc ignores `registry`. Of these types, only microseconds can exceed 2^53.
    typeHook: (schema) => (isMicros(schema) ? long : undefined),
    wrapUnions: 'never',
  });
}

function isMicros(schema: unknown): boolean {
  return (
    schema !== null &&
    typeof schema === 'object' &&
    'logicalType' in schema &&
    schema.logicalType === 'timestamp-micros'
  );
}

function exactLong(): avsc.Type {
  const buffer = Buffer.alloc(8);
  const type: unknown = avsc.types.LongType.__with({
    toBuffer(value: number | bigint): Buffer {
      if (typeof value === 'bigint') buffer.writeBigInt64LE(value);
      else {
        buffer.writeUInt32LE(value >>> 0, 0);
        buffer.writeInt32LE(Math.floor(value / 2 ** 32), 4);
      }
      return buffer;
    },
    fromBuffer: (bytes: Buffer): bigint => bytes.readBigInt64LE(),
    isValid: (value: unknown): boolean => typeof value === 'bigint' || Number.isSafeInteger(value),
    fromJSON: (value: string | number): bigint => BigInt(value),
    toJSON: (value: bigint): string => String(value),
    compare: (a: bigint, b: bigint): number => (a < b ? -1 : Number(a > b)),
  });
  return type as avsc.Type;
}
