import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { brotliCompressSync, createGzip, gzipSync } from 'node:zlib';
import { clientFor, json, never, page, serve, text } from '../unit/provider/http/loopback.ts';

const MIB = 1_048_576;

/** Gzip of so many zero bytes, made without ever holding them. */
async function gzipBomb(bytes: number): Promise<Buffer> {
  const gzip = createGzip();
  const packed: Buffer[] = [];
  gzip.on('data', (chunk: Buffer) => packed.push(chunk));
  const zeros = Buffer.alloc(MIB);
  for (let n = 0; n < bytes / MIB; n++)
    if (!gzip.write(zeros)) await new Promise((resolve) => gzip.once('drain', resolve));
  gzip.end();
  await new Promise((resolve) => gzip.once('end', resolve));
  return Buffer.concat(packed);
}

test('a 200 MB bomb is refused at the cap and needs less than 100 MiB more memory', async (t) => {
  const bomb = await gzipBomb(200 * MIB);
  const { url } = await serve(t, (_, response) => {
    response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(bomb);
  });
  const client = clientFor(t, url, { maxBodyBytes: 64 * MIB });
  const before = process.resourceUsage().maxRSS;
  let kept = 0;
  const reading = client.get(
    page,
    async (answer) => {
      for await (const chunk of answer.body) kept += chunk.byteLength;
    },
    never,
  );
  await assert.rejects(reading, { code: 'BODY_TOO_LARGE', action: 'askForLess', fields: { maxBodyBytes: 64 * MIB } });
  const moreMib = (process.resourceUsage().maxRSS - before) / 1_024;
  assert.ok(kept <= 64 * MIB && kept > 63 * MIB, `${kept} bytes passed`);
  assert.ok(moreMib < 100, `${moreMib} MiB more`);
  t.diagnostic(`${bomb.length} bytes on the wire, ${Math.round(moreMib)} MiB more memory`);
});

test('the decoded bytes count, to the byte, whatever the encoding', async (t) => {
  const body = Buffer.alloc(100_000, 0x20);
  for (const [encoding, packed] of [
    ['gzip', gzipSync(body)],
    ['br', brotliCompressSync(body)],
    ['identity', body],
  ] as const) {
    const { url } = await serve(t, (_, response) => {
      response.writeHead(200, { ...json, 'content-encoding': encoding }).end(packed);
    });
    const client = clientFor(t, url);
    assert.equal((await client.get({ ...page, maxBodyBytes: 100_000 }, text, never)).length, 100_000);
    await assert.rejects(
      client.get({ ...page, maxBodyBytes: 99_999 }, text, never),
      { code: 'BODY_TOO_LARGE' },
      encoding,
    );
  }
});

test('the connection of a body that is too large is cut at once', async (t) => {
  let sent = 0;
  const { url } = await serve(t, async (_, response) => {
    response.writeHead(200, json);
    const chunk = Buffer.alloc(65_536, 0x20);
    while (!response.destroyed && sent < 500 * MIB) {
      sent += chunk.length;
      if (!response.write(chunk))
        await Promise.race([new Promise((resolve) => response.once('drain', resolve)), delay(100)]);
    }
  });
  await assert.rejects(clientFor(t, url).get(page, text, never), { code: 'BODY_TOO_LARGE' });
  await delay(50);
  assert.ok(sent < 50 * MIB, `${sent} bytes sent`);
});

test('chains of encodings and encodings that nobody asked for are refused', async (t) => {
  const packed = gzipSync(gzipSync('{}'));
  for (const encoding of ['gzip, gzip', 'gzip,br', 'deflate', 'zstd', 'compress', 'gzip, identity', 'x\tgzip']) {
    const { url } = await serve(t, (_, response) => {
      response.writeHead(200, { ...json, 'content-encoding': encoding }).end(packed);
    });
    await assert.rejects(clientFor(t, url).get(page, text, never), { code: 'PROTOCOL_VIOLATION' }, encoding);
  }
  const { url } = await serve(t, (_, response) => {
    response.setHeader('content-encoding', ['gzip', 'gzip']);
    response.writeHead(200, json).end(packed);
  });
  await assert.rejects(clientFor(t, url).get(page, text, never), { code: 'PROTOCOL_VIOLATION' });
});
