import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { COMPRESSIONS } from '../../../../../src/kafka/kafkajs/produce/batch-compression.ts';
import { zstdCodec } from '../../../../../src/kafka/kafkajs/produce/zstd-codec.ts';

const ZSTD = 4;

test('what is packed comes back, and is smaller', async () => {
  const buffer = Buffer.from('structured product '.repeat(1_000));
  const packed = (await COMPRESSIONS.get(ZSTD)?.(buffer)) ?? assert.fail('zstd is there');
  assert.ok(packed.length < buffer.length / 10);
  assert.equal(packed.readUInt32LE(0), 0xfd2fb528, 'a zstd frame, as Java and librdkafka read it');
  assert.deepEqual(await zstdCodec.decompress(packed), buffer);
});

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

test('broken bytes are an error', async () => {
  await assert.rejects(zstdCodec.decompress(Buffer.from('no zstd')));
});
