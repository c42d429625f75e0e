import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { constants, createZstdCompress } from 'node:zlib';
import { COMPRESSIONS, zstdCodec } from '../../../../../src/kafka/kafkajs/produce/compression.ts';

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

test('batches are packed at level 1, with a new packer and with a kept one', async () => {
  const pack = COMPRESSIONS.get(ZSTD) ?? assert.fail('zstd is there');
  const rows = Array.from(
    { length: 1_000 },
    (_, index) => `${index};${(index * 48_271) % 99_991};product ${index % 7};EUR`,
  );
  const batch = Buffer.from(rows.join('\n'));
  const expected = await frameAt(1, batch);
  assert.notDeepEqual(await frameAt(3, batch), expected, 'the levels differ on this batch');
  assert.deepEqual(await frameAt(undefined, batch), await frameAt(3, batch), 'the default of the library is level 3');
  // More at once than packers are kept, so that one of them is new; then one that has packed before.
  const atOnce = await Promise.all([batch, batch, batch].map(pack));
  for (const packed of [...atOnce, await pack(batch)]) assert.deepEqual(packed, expected);
});

/** The frame of a stream of its own. `zstdCompressSync` also writes the size of the content, so that its bytes differ. */
async function frameAt(level: number | undefined, batch: Buffer): Promise<Buffer> {
  const params = level === undefined ? {} : { [constants.ZSTD_c_compressionLevel]: level };
  const stream = createZstdCompress({ params });
  const pieces: Buffer[] = [];
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  stream.write(batch);
  await new Promise<void>((resolve) => stream.flush(constants.ZSTD_e_end, resolve));
  stream.destroy();
  return Buffer.concat(pieces);
}

test('broken bytes are an error', async () => {
  await assert.rejects(zstdCodec.decompress(Buffer.from('no zstd')));
});
