import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';

const decompressAsync = promisify(zstdDecompress);

/** A record batch that unpacks to more than this is not one of our batches (they hold at most a few megabytes). */
const MAX_BATCH_BYTES = 256 * 1024 * 1024;

/*
 * The output grows by pieces, each of which is a trip to another thread and a buffer to be joined: with Node's 16 KiB a
 * batch takes dozens. A small batch needs no large one.
 */
const SMALLEST_PIECE = 16 * 1024;
const LARGEST_PIECE = 1024 * 1024;
/** The unpacked size of most of our batches is below this multiple of their packed size: one piece, and nothing to join. */
const UNPACKED = 8;

/** zstd for kafkajs' consumers, through Node's own zlib and off the event loop. Batches are packed by batch-compression.ts. */
export const zstdCodec = {
  compress(): never {
    throw new Error('kafkajs must not pack batches: records are sent by kafkajs/produce/send-messages.ts');
  },
  decompress(buffer: Buffer): Promise<Buffer> {
    return decompressAsync(buffer, {
      maxOutputLength: MAX_BATCH_BYTES,
      chunkSize: Math.min(Math.max(buffer.length * UNPACKED, SMALLEST_PIECE), LARGEST_PIECE),
    });
  },
};
