import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { createStandingClock } from '../../../../src/dev/simulator/clock.ts';
import type { Fault } from '../../../../src/dev/simulator/faults/fault.ts';
import { type ProviderClient, startProvider } from './provider-client.ts';

const LIST = '/reference-data/v1/instruments?limit=5';

async function struck(t: import('node:test').TestContext, fault: Fault): Promise<ProviderClient> {
  const provider = await startProvider(t, { auth: false });
  provider.simulator.injectFaults([{ match: 'instruments', fault }]);
  return provider;
}

/** The fault strikes once; the next answer is as it should be. */
async function recovers(provider: ProviderClient): Promise<void> {
  const answer = await provider.get(LIST);
  assert.deepEqual([answer.status, answer.json.instruments.length], [200, 5]);
}

test('a status comes with Retry-After in seconds or as a date by the simulated clock, and with its body', async (t) => {
  const clock = createStandingClock(Date.UTC(2026, 0, 5));
  const provider = await startProvider(t, { auth: false, clock });
  provider.simulator.injectFaults([
    { match: 'instruments', fault: { kind: 'status', status: 429, retryAfterSeconds: 7 } },
    {
      match: 'instruments',
      nth: 2,
      fault: { kind: 'status', status: 503, retryAfterDateInSeconds: 60, body: 'busy', contentType: 'text/plain' },
    },
  ]);
  const [first, second] = [await provider.get(LIST), await provider.get(LIST)];
  assert.deepEqual([first.status, first.headers['retry-after'], first.json.status], [429, '7', 429]);
  assert.deepEqual(
    [second.status, second.headers['retry-after'], second.text],
    [503, 'Mon, 05 Jan 2026 00:01:00 GMT', 'busy'],
  );
  await recovers(provider);
});

test('the nth matching request is struck, as often as requested, and others are not', async (t) => {
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

test('a rate strikes about that share of requests until the faults are cleared', async (t) => {
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

test('all tokens end when the fault says so, and a new one works', async (t) => {
  const provider = await startProvider(t);
  provider.simulator.injectFaults([{ match: 'instruments', fault: { kind: 'expireTokens' } }]);
  assert.equal((await provider.get(LIST)).status, 401);
  await provider.login();
  await recovers(provider);
});

test('a reset breaks the connection before or in the middle of the body', async (t) => {
  for (const share of [0, 0.5]) {
    const provider = await struck(t, { kind: 'reset', share });
    await assert.rejects(provider.get(LIST), { code: 'ECONNRESET' });
    await recovers(provider);
  }
});

test('a cut body ends the connection early in the framing that was asked for', async (t) => {
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

test('a body can be anything: HTML with 200, JSON without its end, or behind a byte order mark', async (t) => {
  const html = await (await struck(t, { kind: 'body', body: '<html>', contentType: 'text/html' })).get(LIST);
  assert.deepEqual([html.status, html.headers['content-type'], html.text], [200, 'text/html', '<html>']);
  const cut = await (await struck(t, { kind: 'cutJson' })).get(LIST);
  assert.equal(cut.status, 200);
  assert.throws(() => JSON.parse(cut.text), SyntaxError);
  const marked = await (await struck(t, { kind: 'bom' })).get(LIST);
  assert.deepEqual([...marked.body.subarray(0, 4)], [0xef, 0xbb, 0xbf, 0x7b]);
});

test('a bomb decodes to as many bytes as asked for, all of them valid JSON', async (t) => {
  const provider = await struck(t, { kind: 'bomb', decodedBytes: 5_000_000 });
  const answer = await provider.get(LIST);
  assert.equal(answer.headers['content-encoding'], 'gzip');
  assert.ok(answer.body.length < 100_000, 'It is small on the wire.');
  const decoded = gunzipSync(answer.body);
  assert.ok(decoded.length > 5_000_000);
  assert.equal(JSON.parse(decoded.toString()).instruments.length, 5);
});

/** Sends a bare request and hangs up once this holds of what has come; gives that, and how long it took. */
async function receiveUntil(
  provider: ProviderClient,
  isEnough: (received: Buffer) => boolean,
): Promise<{ received: Buffer; seconds: number }> {
  const { hostname, port } = new URL(provider.simulator.url);
  const startedMs = performance.now();
  const socket = connect(Number(port), hostname);
  try {
    socket.write(`GET ${LIST} HTTP/1.1\r\nhost: x\r\n\r\n`);
    const chunks: Buffer[] = [];
    for await (const chunk of socket) {
      chunks.push(chunk as Buffer);
      const received = Buffer.concat(chunks);
      if (isEnough(received)) return { received, seconds: (performance.now() - startedMs) / 1_000 };
    }
    return assert.fail('The connection ended before that.');
  } finally {
    socket.destroy();
  }
}

test('a slow head never ends, and a slow body comes a few bytes at a time', async (t) => {
  const RATE = 200;
  // What is written at once, and a little for a clock that is read late.
  const most = (seconds: number) => RATE * seconds + RATE / 5;
  const slowHead = await struck(t, { kind: 'slow', part: 'head', bytesPerSecond: RATE });
  const head = await receiveUntil(slowHead, ({ length }) => length > 60);
  assert.ok(head.received.length <= most(head.seconds), `${head.received.length} bytes in ${head.seconds} s`);
  assert.match(head.received.toString(), /^HTTP\/1\.1 200 OK(?![\s\S]*\r\n\r\n)/);
  const bodyOf = (received: Buffer) => received.toString().split('\r\n\r\n')[1]?.length ?? 0;
  const slowBody = await struck(t, { kind: 'slow', part: 'body', bytesPerSecond: RATE });
  const body = await receiveUntil(slowBody, (received) => bodyOf(received) > 60);
  assert.ok(bodyOf(body.received) <= most(body.seconds), `${bodyOf(body.received)} bytes in ${body.seconds} s`);
});

test('an endless body goes on until the client hangs up or its limit is reached', async (t) => {
  const provider = await struck(t, { kind: 'endless', maxBytes: 1_000_000 });
  const answer = await provider.get(LIST);
  assert.ok(answer.body.length > 1_000_000);
  assert.equal(answer.json.instruments.length, 5);
  await receiveUntil(await struck(t, { kind: 'endless' }), ({ length }) => length > 3_000_000);
});

test('bulk responses can be swapped, short, mislabelled, empty, failed or refused', async (t) => {
  const provider = await startProvider(t, { auth: false });
  const isins = [...provider.simulator.ledger.instruments()]
    .slice(0, 3)
    .map(({ text }) => JSON.parse(text).identifiers[0].value);
  const items = isins.map((isin) => ({ $type: 'ProductPriceOverviewRequest', isin }));
  const ask = async (how: Extract<Fault, { kind: 'bulk' }>['how'], bad?: string) => {
    provider.simulator.injectFaults([{ match: 'bulk', fault: { kind: 'bulk', how, ...(bad && { isins: [bad] }) } }]);
    return provider.post('/market-data/v1/products/bulk', JSON.stringify({ items }));
  };
  const names = (answer: Awaited<ReturnType<typeof ask>>) =>
    answer.json.items.map((item: { responseIdentifier: { isin: string } }) => item.responseIdentifier.isin);
  assert.deepEqual(names(await ask('swap')), [isins[1], isins[0], isins[2]]);
  assert.deepEqual(names(await ask('drop')), isins.slice(1));
  assert.deepEqual(names(await ask('mismatch')), [isins[1], isins[1], isins[2]]);
  const empty = (await ask('null')).json;
  assert.deepEqual([empty.errors, empty.items[0].response, empty.items[0].errorResponse], [true, null, null]);
  assert.ok((await ask('failAll')).json.items.every((item: { errorResponse: object | null }) => item.errorResponse));
  assert.deepEqual(names(await ask('add')), [isins[0], ...isins]);
  assert.equal((await ask('flag')).json.errors, true);
  const typed = (await ask('type', isins[1])).json.items.map(
    (item: { response: { $type: string } }) => item.response.$type,
  );
  assert.deepEqual(typed, [
    'ProductPriceOverviewResponse',
    'ProductDailyPriceResponse',
    'ProductPriceOverviewResponse',
  ]);
  assert.deepEqual(names(await ask('swap', isins[2])), [isins[0], isins[2], isins[1]]);
  assert.deepEqual(names(await ask('drop', isins[1])), [isins[0], isins[2]]);
  assert.deepEqual(names(await ask('drop', 'XS0000000009')), isins, 'Only a request with that isin is spoiled.');
  assert.equal((await ask('refuse', isins[2])).status, 400);
  assert.equal((await ask('refuse', 'XS0000000009')).status, 200, 'Only a request with that isin is refused.');
});
