import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { freePorts } from '../../../src/local-stack/free-ports.ts';

test('ports are free, all different, and below those of outgoing connections', async () => {
  const ports = await freePorts(20);
  assert.equal(new Set(ports).size, 20);
  assert.ok(ports.every((port) => port >= 20_000 && port < 32_768));
});

test('a port that is taken, or was given before, is passed over', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port: taken } = server.address() as AddressInfo;
  const [given = 0] = await freePorts(1);
  const offers = [taken, given, given];
  const found = await freePorts(2, (first, limit) => offers.shift() ?? randomInt(first, limit));
  assert.deepEqual(offers, []);
  assert.equal(new Set(found).size, 2);
  assert.ok(!found.includes(taken) && !found.includes(given));
});

test('a port that was given stays free for the caller that will listen there, and is given to no other process', async (t) => {
  const [given = 0] = await freePorts(1);
  const script = `
    import { freePorts } from ${JSON.stringify(import.meta.resolve('../../../src/local-stack/free-ports.ts'))};
    await freePorts(1, () => ${given}).catch(() => process.stdout.write('not given'));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  assert.equal(stdout, 'not given');
  const server = createServer().listen(given, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
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
