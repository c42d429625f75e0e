import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { type ProviderClient, startProvider } from '../../../test/support/simulator-client.ts';
import type { Fault } from './faults/fault.ts';

const LIST = '/reference-data/v1/instruments?limit=5';

async function struck(t: import('node:test').TestContext, fault: Fault): Promise<ProviderClient> {
  const provider = await startProvider(t, { auth: false });
  provider.simulator.injectFaults([{ match: 'instruments', fault }]);
  return provider;
}

async function recovers(provider: ProviderClient): Promise<void> {
  const answer = await provider.get(LIST);
  assert.deepEqual([answer.status, answer.json.instruments.length], [200, 5]);
}

test('the nth matching request gets the fault, as often as requested; other requests do not', async (t) => {
  const provider = await startProvider(t, { auth: false });
  provider.simulator.injectFaults([
    { match: ['instruments', 'events'], nth: 2, count: 2, fault: { kind: 'status', status: 500 } },
  ]);
  const statuses: number[] = [];
  for (const path of [LIST, '/reference-data/v1/pretradechecks', '/reference-data/v1/instruments/events', LIST, LIST]) {
    statuses.push((await provider.get(path)).status);
  }
  assert.deepEqual(statuses, [200, 200, 500, 500, 200]);
  assert.deepEqual(provider.simulator.faultsStruck(), { status: 2 });
});

test('with a rate, about this share of requests gets the fault until the faults are removed', async (t) => {
  const provider = await startProvider(t, {
    auth: false,
    faults: [{ match: '*', rate: 0.5, fault: { kind: 'status', status: 500 } }],
  });
  let failed = 0;
  for (let asked = 0; asked < 60; asked++) failed += (await provider.get(LIST)).status === 500 ? 1 : 0;
  assert.ok(failed > 15 && failed < 45, `${failed} of 60 were struck.`);
  provider.simulator.clearFaults();
  for (let asked = 0; asked < 8; asked++) await recovers(provider);
});

test('a reset breaks the connection before or in the middle of the body', async (t) => {
  for (const share of [0, 0.5]) {
    const provider = await struck(t, { kind: 'reset', share });
    await assert.rejects(provider.get(LIST), { code: 'ECONNRESET' });
    await recovers(provider);
  }
});

test('the share of the body arrives before the reset', async (t) => {
  for (const share of [0.5, 0.95]) {
    const provider = await struck(t, { kind: 'reset', share });
    const { received } = await receiveUntil(provider, () => false, true);
    const [head = '', body = ''] = received.toString('latin1').split('\r\n\r\n');
    const whole = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    assert.equal(body.length, Math.floor(whole * share));
  }
});

test('a cut body ends the connection early, with the requested framing', async (t) => {
  for (const how of ['contentLength', 'chunked'] as const) {
    const provider = await struck(t, { kind: 'truncate', how });
    await assert.rejects(provider.get(LIST), { code: 'ECONNRESET' });
    await recovers(provider);
  }
  const provider = await struck(t, { kind: 'truncate', how: 'close', share: 0.25 });
  const whole = (await (await startProvider(t, { auth: false })).get(LIST)).body.length;
  const answer = await provider.get(LIST);
  assert.deepEqual([answer.status, answer.headers['content-length'], answer.json], [200, undefined, undefined]);
  assert.ok(Math.abs(answer.body.length - whole / 4) < 2_000);
  await recovers(provider);
});

/** Sends a bare request and disconnects when `isEnough` is true. Returns the received bytes and the duration. */
async function receiveUntil(
  provider: ProviderClient,
  isEnough: (received: Buffer) => boolean,
  toReset = false,
): Promise<{ received: Buffer; seconds: number }> {
  const { hostname, port } = new URL(provider.simulator.url);
  const startedMs = performance.now();
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  const result = () => ({ received: Buffer.concat(chunks), seconds: (performance.now() - startedMs) / 1_000 });
  try {
    socket.write(`GET ${LIST} HTTP/1.1\r\nhost: x\r\n\r\n`);
    for await (const chunk of socket) {
      chunks.push(chunk as Buffer);
      if (isEnough(Buffer.concat(chunks))) return result();
    }
    return assert.fail('The connection ended before that.');
  } catch (error) {
    if (toReset && (error as NodeJS.ErrnoException).code === 'ECONNRESET') return result();
    throw error;
  } finally {
    socket.destroy();
  }
}

test('a slow head never ends; a slow body comes a few bytes at a time', async (t) => {
  const RATE = 200;
  // The maximum number of received bytes. The reserve covers the first write and inexact timers.
  const most = (seconds: number) => RATE * seconds + RATE / 5;
  const slowHead = await struck(t, { kind: 'slow', part: 'head', bytesPerSecond: RATE });
  const head = await receiveUntil(slowHead, ({ length }) => length > 60);
  assert.ok(head.received.length <= most(head.seconds), `${head.received.length} bytes in ${head.seconds} s`);
  assert.match(head.received.toString(), /^HTTP\/1\.1 200 OK(?![\s\S]*\r\n\r\n)/);
  const faster = await struck(t, { kind: 'slow', part: 'head', bytesPerSecond: 5_000 });
  const whole = await receiveUntil(faster, (received) => received.includes('x-slow: ssssssss'));
  assert.ok(!whole.received.includes('\r\n\r\n'), whole.received.toString());
  const bodyOf = (received: Buffer) => received.toString().split('\r\n\r\n')[1]?.length ?? 0;
  const slowBody = await struck(t, { kind: 'slow', part: 'body', bytesPerSecond: RATE });
  const body = await receiveUntil(slowBody, (received) => bodyOf(received) > 60);
  assert.match(body.received.toString(), /\r\nconnection: close\r\n/i);
  assert.ok(bodyOf(body.received) <= most(body.seconds), `${bodyOf(body.received)} bytes in ${body.seconds} s`);
});
