import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openResponseBody } from '../../../src/http/response-body.ts';

const CHUNK_BYTES = 64 * 1024;

/** The chunks of a body, without copies; what their memory holds once all were read. */
async function readWhole(sent: readonly Buffer[], encoding: string | null) {
  const { chunks } = openResponseBody({
    stream: Readable.from(sent),
    encoding,
    maxBodyBytes: 10 * CHUNK_BYTES,
    from: 'GET /v1/instruments',
    capSetting: 'maxBodyBytes',
    signal: new AbortController().signal,
  });
  const read: { readonly chunk: Uint8Array; readonly bytes: number }[] = [];
  for await (const chunk of chunks) read.push({ chunk, bytes: chunk.byteLength });
  return read;
}

test("the memory of a body as it came is given back chunk by chunk; a decoder's is its own", async () => {
  const body = Array.from({ length: 3 }, () => Buffer.alloc(CHUNK_BYTES, 'a'));
  const plain = await readWhole(
    body.map((chunk) => Buffer.from(Uint8Array.from(chunk).buffer)),
    null,
  );
  assert.deepEqual(
    plain.map(({ chunk, bytes }) => [bytes, chunk.byteLength]),
    [
      [CHUNK_BYTES, 0],
      [CHUNK_BYTES, 0],
      [CHUNK_BYTES, 0],
    ],
  );
  const decoded = await readWhole([gzipSync(Buffer.concat(body))], 'gzip');
  assert.equal(
    decoded.reduce((sum, { chunk }) => sum + chunk.byteLength, 0),
    3 * CHUNK_BYTES,
  );
});
