import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { COMPRESSIONS, zstdCodec } from '../../../../../src/kafka/kafkajs/produce/compression.ts';

const ZSTD = 4;

test('batches that are packed one after the other and at once are frames of their own', async () => {
  const pack = COMPRESSIONS.get(ZSTD) ?? assert.fail('zstd is there');
  // Empty, small, more than one piece of output, and many of different content.
  const batches = [0, 1, 100, 3_000_000, 65_536, 131_072, 1_048_577].flatMap((bytes) => [
    randomBytes(bytes),
    Buffer.alloc(bytes, 'structured product '),
  ]);
  const packed = await Promise.all(batches.map(pack));
  for (const batch of batches) packed.push(await pack(batch));
  for (const [index, frame] of packed.entries()) {
    assert.deepEqual(await zstdCodec.decompress(frame), batches[index % batches.length]);
  }
});
