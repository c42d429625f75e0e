import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { freePorts } from '../../../src/demo/free-ports.ts';

test('ports are free, all different, and below those of outgoing connections', async () => {
  const ports = await freePorts(20);
  assert.equal(new Set(ports).size, 20);
  assert.ok(ports.every((port) => port >= 20_000 && port < 32_768));
});

test('a port that is taken, or was just given, is passed over', async (t) => {
  const [taken = 0, free = 0, next = 0] = await freePorts(3);
  const server = createServer().listen(taken, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const offers = [taken, free, free, taken, next];
  assert.deepEqual(await freePorts(2, () => offers.shift() ?? 0), [free, next]);
});

test('the search for a port ends', async (t) => {
  const [taken = 0] = await freePorts(1);
  const server = createServer().listen(taken, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  await assert.rejects(
    freePorts(1, () => taken),
    /No 1 free ports .* after 200 tries/,
  );
});
