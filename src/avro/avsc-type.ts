import avsc from 'avsc';

/**
 * avsc's type for a schema, with two of its habits changed. Longs are bigints where they are read, and bigints or safe
 * integers where they are written: avsc itself refuses all beyond 2^53. Logical types are left alone: decimals are
 * bytes, dates numbers; the mapping has made them final, and avsc would check each of them twice.
 */
export function avscType(schemaText: string): avsc.Type {
  return avsc.Type.forSchema(JSON.parse(schemaText), { registry: { long: exactLong() }, wrapUnions: 'never' });
}

function exactLong(): avsc.Type {
  const type: unknown = avsc.types.LongType.__with({
    toBuffer(value: number | bigint): Buffer {
      const buffer = Buffer.alloc(8);
      buffer.writeBigInt64LE(BigInt(value));
      return buffer;
    },
    fromBuffer: (buffer: Buffer): bigint => buffer.readBigInt64LE(),
    isValid: (value: unknown): boolean => typeof value === 'bigint' || Number.isSafeInteger(value),
    fromJSON: (value: string | number): bigint => BigInt(value),
    toJSON: (value: bigint): string => String(value),
    compare: (a: bigint, b: bigint): number => (a < b ? -1 : Number(a > b)),
  });
  return type as avsc.Type;
}
