import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { freePorts } from './free-ports.ts';

test('a returned port stays free until its caller listens there, and no other process gets it', async (t) => {
  const [given = 0] = await freePorts(1);
  const script = `
    import { freePorts } from ${JSON.stringify(import.meta.resolve('./free-ports.ts'))};
    await freePorts(1, () => ${given}).catch(() => process.stdout.write('not given'));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  assert.equal(stdout, 'not given');
  const server = createServer().listen(given, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
});
