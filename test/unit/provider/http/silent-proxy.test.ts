import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ConnectorError } from '../../../../src/errors.ts';
import { portOf } from '../../../support/network/loopback-port.ts';
import { clientFor, never, page, text } from './loopback.ts';

const POOL = 8;
const LONGEST_RECOVERY_MS = 60_000;

test('a proxy that was silent for a while is asked again as soon as it speaks, and holds no connection', async (t) => {
  let isSilent = true;
  const sockets = new Set<Socket>();
  const proxy = createServer();
  proxy.on('connect', (_, socket) => {
    sockets.add(socket as Socket);
    socket.on('error', () => {});
    // Its end is only noticed by a reader.
    socket.on('end', () => socket.end()).resume();
    socket.on('close', () => sockets.delete(socket as Socket));
    if (!isSilent) socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
  });
  const address = `http://127.0.0.1:${await portOf(t, proxy)}`;
  const client = clientFor(t, 'https://provider.test', { proxy: address, timeoutMs: 400 });
  const ask = () => client.get(page, text, never).catch((error: unknown) => error);

  await Promise.all(Array.from({ length: POOL + 1 }, ask));
  isSilent = false;
  const deadlineMs = performance.now() + LONGEST_RECOVERY_MS;
  for (;;) {
    const error = await ask();
    // The proxy's refusal: it was heard.
    if (error instanceof ConnectorError && error.message.includes('UND_ERR_ABORTED')) break;
    assert.ok(performance.now() < deadlineMs, `still ${String(error)}`);
  }
  while (sockets.size > 0 && performance.now() < deadlineMs) await delay(20);
  assert.equal(sockets.size, 0, 'connections to the silent proxy are still open');
});
