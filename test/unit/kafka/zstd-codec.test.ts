import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMPRESSIONS } from '../../../src/kafka/kafkajs/batch-compression.ts';
import { zstdCodec } from '../../../src/kafka/zstd-codec.ts';

const ZSTD = 4;

test('what is packed comes back, and is smaller', async () => {
  const buffer = Buffer.from('structured product '.repeat(1_000));
  const packed = (await COMPRESSIONS.get(ZSTD)?.(buffer)) ?? assert.fail('zstd is there');
  assert.ok(packed.length < buffer.length / 10);
  assert.equal(packed.readUInt32LE(0), 0xfd2fb528, 'a zstd frame, as Java and librdkafka read it');
  assert.deepEqual(await zstdCodec.decompress(packed), buffer);
});

test('broken bytes are an error', async () => {
  await assert.rejects(zstdCodec.decompress(Buffer.from('no zstd')));
});
