import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answersWell, livenessUrl } from '../../../src/cli/health-probe.ts';
import { serve } from '../http/loopback.ts';

test('it asks where the environment places the admin server, on this machine where that listens everywhere', () => {
  assert.equal(livenessUrl({}), 'http://127.0.0.1:8083/livez');
  assert.equal(livenessUrl({ ADMIN_HOST: '0.0.0.0', ADMIN_PORT: '9000' }), 'http://127.0.0.1:9000/livez');
  assert.equal(livenessUrl({ ADMIN_HOST: '::', ADMIN_PORT: '' }), 'http://127.0.0.1:8083/livez');
  assert.equal(livenessUrl({ ADMIN_HOST: '10.0.0.7' }), 'http://10.0.0.7:8083/livez');
  assert.equal(livenessUrl({ ADMIN_HOST: '::1' }), 'http://[::1]:8083/livez');
});

test('success alone is healthy: no other status, no redirect, and nobody who listens', async (t) => {
  let status = 200;
  const { url, server } = await serve(t, (_, response) => response.writeHead(status, { location: '/' }).end('x'));
  assert.equal(await answersWell(url), true);
  for (status of [302, 404, 500, 503]) assert.equal(await answersWell(url), false, String(status));
  server.closeAllConnections();
  assert.equal(await answersWell('http://127.0.0.1:1'), false);
});
