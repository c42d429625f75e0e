import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { HttpResponse } from '../../../../src/provider/http/http-response.ts';
import { clientFor, json, keepingLog, never, page, serve, serveRaw, text } from './loopback.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

test('busy answers carry how long the server asks us to wait, in seconds or as a date by its own clock', async (t) => {
  const date = 'Sun, 06 Nov 1994 08:49:37 GMT';
  for (const [status, retryAfter, waitMs] of [
    [429, '7', 7_000],
    [503, 'Sun, 06 Nov 1994 08:50:37 GMT', 60_000],
    [503, 'Sun, 06 Nov 1994 08:49:00 GMT', 0],
    [500, '999999999', 3_600_000],
    [502, 'soon', undefined],
    [504, undefined, undefined],
    [408, undefined, undefined],
    [425, undefined, undefined],
  ] as const) {
    let requests = 0;
    const { url } = await serve(t, (_, response) => {
      requests += 1;
      response.writeHead(status, { date, ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }) }).end();
    });
    await assert.rejects(clientFor(t, url).get(page, text, never), {
      code: 'PROVIDER_BUSY',
      action: 'retry',
      retryAfterMs: waitMs,
      fields: { status, endpoint: '/v1/instruments', dateMs: Date.parse(date) },
    });
    assert.equal(requests, 1, 'the caller repeats, not the client');
  }
});

test('refusals say what to do: 413 asks for less, 400 and 404 are reported with their status, 403 is not repeated', async (t) => {
  for (const [status, code] of [
    [413, 'PROVIDER_ASKS_FOR_LESS'],
    [400, 'PROVIDER_REFUSED'],
    [404, 'PROVIDER_REFUSED'],
    [410, 'PROVIDER_REFUSED'],
    [403, 'PROVIDER_UNAUTHORIZED'],
  ] as const) {
    let requests = 0;
    const { url } = await serve(t, (_, response) => {
      requests += 1;
      response.sendDate = false;
      response.writeHead(status).end('not even a problem');
    });
    await assert.rejects(clientFor(t, url).get(page, text, never), {
      code,
      fields: { status, endpoint: '/v1/instruments', dateMs: null },
    });
    assert.equal(requests, 1);
  }
});

test('an error reports title and detail of the problem, escaped, cut, without addresses and what was sent', async (t) => {
  const detail = `\r\n\u001b[2J see https://host/x?since=1 for canary-key ${'x'.repeat(1_000)}`;
  const { url } = await serve(t, (_, response) => {
    response.writeHead(400, { 'content-type': 'application/problem+json', 'content-encoding': 'gzip' });
    response.end(gzipSync(JSON.stringify({ title: 'Bad', detail, status: 400 })));
  });
  const credentials = { 'x-key': 'canary-key' };
  const authorization = { headers: async () => credentials, renew: async () => null };
  const error = await clientFor(t, url, { authorization })
    .get(page, text, never)
    .catch((caught) => caught);
  assert.match(error.message, /400 \(Bad: \\u\{d\}\\u\{a\}\\u\{1b\}\[2J see \[address\] for \[secret\] x+…\)/);
  assert.ok(error.message.length < 500);
});

test('what a validation problem says of each name is kept in the fields, a few of it, without what was sent', async (t) => {
  const reasons = {
    'items[3].isin': ['is canary-key', 'is short'],
    fields: ['x\n'],
    a: [],
    b: 'text',
    c: [1],
    d: ['late'],
  };
  const date = 'Sun, 06 Nov 1994 08:49:37 GMT';
  const { url } = await serve(t, (_, response) => {
    response.writeHead(400, { 'content-type': 'application/problem+json', date });
    response.end(JSON.stringify({ title: 'Not valid', status: 400, errors: reasons }));
  });
  const authorization = { headers: async () => ({ 'x-key': 'canary-key' }), renew: async () => null };
  const error = await clientFor(t, url, { authorization })
    .post({ ...page, body: '{}' }, text, never)
    .catch((caught) => caught);
  assert.deepEqual(error.fields, {
    status: 400,
    endpoint: '/v1/instruments',
    dateMs: Date.parse(date),
    validation: ['items[3].isin: is [secret]', 'items[3].isin: is short', 'fields: x\\u{a}', 'b: text', 'c'],
  });
  assert.match(error.message, /400 \(Not valid: items\[3\]\.isin: is \[secret\]\)/);
});

test('an error names type, instance and the further members of the problem, a few of them, escaped, cut and without secrets', async (t) => {
  const members = {
    type: 'https://u:p@provider.example/errors/busy?key=canary#late',
    title: 'Bad',
    instance: '/v1/instruments',
    traceId: '00-canary-key-7\n',
    access_token: 'abc',
    context: { password: 'abc', node: 3 },
    long: 'x'.repeat(1_000),
    'a\u001b': null,
    ...Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`m${at}`, at])),
  };
  const { url } = await serve(t, (_, response) => {
    response.writeHead(400, { 'content-type': 'application/problem+json' });
    response.end(JSON.stringify(members));
  });
  const authorization = { headers: async () => ({ 'x-key': 'canary-key' }), renew: async () => null };
  const error = await clientFor(t, url, { authorization })
    .get(page, text, never)
    .catch((caught) => caught);
  assert.deepEqual(error.fields.problem, {
    type: 'provider.example/errors/busy#late',
    instance: '/v1/instruments',
    traceId: '00-[secret]-7\\u{a}',
    access_token: '[redacted]',
    context: '{"password":"[redacted]","node":3}',
    long: `${'x'.repeat(200)}…`,
    m0: '0',
    m1: '1',
    m2: '2',
    m3: '3',
  });
  assert.match(
    error.message,
    /400 \(Bad; type: provider\.example\/errors\/busy#late; instance: \/v1\/instruments; traceId: /,
  );
});

test('the body of an error neither hides its status nor delays it for long', async (t) => {
  const bodies: ((socket: Socket) => void)[] = [
    (socket) => socket.write('content-length: 50\r\n\r\n{'),
    (socket) => socket.write(`\r\n${'x'.repeat(10_000)}`),
    (socket) => socket.end('content-length: 50\r\n\r\n{'),
    (socket) => socket.write('content-encoding: nonsense\r\ncontent-length: 2\r\n\r\n{}'),
  ];
  const urls = await Promise.all(
    bodies.map((body) =>
      serveRaw(t, (socket) => {
        socket.write('HTTP/1.1 503 Busy\r\ncontent-type: application/problem+json\r\n');
        body(socket);
      }),
    ),
  );
  // Two seconds are waited for it, and a slow machine needs some more; the request itself might take ten minutes.
  const startedAt = performance.now();
  await Promise.all(
    urls.map((url) =>
      assert.rejects(clientFor(t, url, { timeoutMs: 600_000 }).get(page, text, never), { code: 'PROVIDER_BUSY' }),
    ),
  );
  assert.ok(performance.now() - startedAt < 120_000);
});

test('a server that cannot be found, refuses, or resets is unreachable', async (t) => {
  const reset = await serveRaw(t, (socket) => void socket.resetAndDestroy());
  const closing = await serveRaw(t, (socket) => void socket.end());
  for (const url of [reset, closing, 'http://127.0.0.1:9', `https://${'x'.repeat(64)}.invalid`]) {
    await assert.rejects(clientFor(t, url).get(page, text, never), { code: 'PROVIDER_UNREACHABLE', action: 'retry' });
  }
});

test('slow headers, a slow body, and a body without end are cut at the total deadline', async (t) => {
  const drip = (socket: Socket, head: string, piece: string) => {
    socket.write(head);
    const timer = setInterval(() => socket.write(piece), 20);
    socket.on('close', () => clearInterval(timer));
  };
  const talks: ((socket: Socket) => void)[] = [
    (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx: ', 'y'),
    (socket) => drip(socket, `${OK}\r\n`, ' '),
    (socket) => drip(socket, `${OK}transfer-encoding: chunked\r\n\r\n`, '1\r\n \r\n'),
    () => {},
  ];
  await Promise.all(
    talks.map(async (talk) => {
      const url = await serveRaw(t, talk);
      const startedAt = performance.now();
      let seen: unknown;
      const consume = (answer: HttpResponse) =>
        text(answer).catch((error) => {
          seen = error;
          throw new Error('the answer makes no sense');
        });
      const error = await clientFor(t, url, { timeoutMs: 300 })
        .get(page, consume, never)
        .catch((caught) => caught);
      assert.equal(error.code, 'PROVIDER_TIMEOUT');
      assert.ok(seen === undefined || seen === error, 'the reader of the body was reported the same');
      const tookMs = performance.now() - startedAt;
      assert.ok(tookMs > 280 && tookMs < 120_000, `cut after ${tookMs} ms`);
    }),
  );
});

test('a server that never finishes the handshake does not hold up a caller that aborts', async (t) => {
  const url = (await serveRaw(t, () => {})).replace('http:', 'https:');
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('stopped')), 30);
  // Long before its own deadline, on a slow machine too.
  const startedAt = performance.now();
  await assert.rejects(clientFor(t, url, { timeoutMs: 600_000 }).get(page, text, controller.signal), /stopped/);
  assert.ok(performance.now() - startedAt < 120_000);
});

test('work on an answer that never ends is cut at the deadline too', async (t) => {
  const { url } = await serve(t, (_, response) => void response.writeHead(200, json).end('{}'));
  const hanging = clientFor(t, url, { timeoutMs: 200 }).get(page, () => new Promise(() => {}), never);
  await assert.rejects(hanging, { code: 'PROVIDER_TIMEOUT', action: 'askForLess' });
});

test('a cut body is noticed by its reader, and by the client when the reader swallows it', async (t) => {
  const zipped = gzipSync(JSON.stringify(Array.from({ length: 3_000 }, (_, id) => ({ id }))));
  const cuts: [string, string | Buffer][] = [
    ['content-length: 100\r\n', '{"instruments":[]}'],
    ['transfer-encoding: chunked\r\n', '12\r\n{"instruments":[]}\r\n'],
    ['transfer-encoding: chunked\r\n', '12\r\n{"instru'],
    ['content-encoding: gzip\r\n', zipped.subarray(0, zipped.length - 9)],
  ];
  for (const [head, body] of cuts) {
    const url = await serveRaw(t, (socket) => {
      socket.write(`${OK}${head}\r\n`);
      socket.end(body);
    });
    const client = clientFor(t, url);
    let seen: unknown;
    const reading = client.get(
      page,
      async (answer) => {
        seen = await text(answer).catch((error) => error);
      },
      never,
    );
    await assert.rejects(reading, { code: 'BODY_INCOMPLETE', action: 'retry' }, head);
    assert.equal((seen as { code?: string })?.code, 'BODY_INCOMPLETE', head);
    const wrapping = async (answer: HttpResponse) => {
      await text(answer).catch(() => Promise.reject(new Error('the JSON ends early')));
    };
    await assert.rejects(client.get(page, wrapping, never), { code: 'BODY_INCOMPLETE' }, head);
    // A reader that stopped at the end of the JSON has not seen the cut; the client has.
    await assert.rejects(
      client.get(page, async () => 'ended early', never),
      { code: 'BODY_INCOMPLETE' },
      head,
    );
  }
});

test('a body whose end only the closing connection marks is left to the JSON decoder', async (t) => {
  const url = await serveRaw(t, (socket) => void socket.end(`${OK}\r\n{"instruments":[`));
  assert.equal(await clientFor(t, url).get(page, text, never), '{"instruments":[');
});

test('a body that cannot be decompressed is malformed, not cut', async (t) => {
  const { url } = await serve(t, (_, response) => {
    response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end('{"instruments":[]}');
  });
  await assert.rejects(clientFor(t, url).get(page, text, never), { code: 'BODY_MALFORMED' });
});

test('HTML with 200, other types, other charsets, no type, and parts are refused by name', async (t) => {
  for (const [status, headers, says] of [
    [
      200,
      { 'content-type': 'text/html; charset=utf-8' },
      /GET http:[^ ]+\/v1\/instruments of referenceData .*"text\/html/,
    ],
    [200, { 'content-type': `text/plain;${'x'.repeat(500)}` }, /"text\/plain;x{69}…"/],
    [200, { 'content-type': 'application/json; charset=utf-16' }, /expected JSON in UTF-8/],
    [200, {}, /without a content type/],
    [206, json, /answered with 206/],
    [200, { ...json, age: '3' }, /from a cache, 3 s old/],
    [200, { ...json, age: '0, 3' }, /from a cache/],
  ] as const) {
    const { url } = await serve(t, (_, response) => void response.writeHead(status, headers).end('<html>{}'));
    const reading = clientFor(t, url).get(page, text, never);
    await assert.rejects(reading, { code: 'PROTOCOL_VIOLATION', message: says });
  }
});

test('what is not HTTP at all is a violation of the protocol', async (t) => {
  for (const answer of ['SSH-2.0-OpenSSH_9.6\r\n', `${OK}x: ${'y'.repeat(70_000)}\r\n\r\n`]) {
    const url = await serveRaw(t, (socket) => void socket.write(answer));
    await assert.rejects(clientFor(t, url).get(page, text, never), { code: 'PROTOCOL_VIOLATION' });
  }
});

test('a port that speaks no TLS is named with the request and its setting', async (t) => {
  const { url } = await serve(t, (_, response) => void response.end());
  await assert.rejects(clientFor(t, url.replace('http:', 'https:')).get(page, text, never), {
    code: 'PROVIDER_UNREACHABLE',
    message:
      /^GET https:[^ ]+\/v1\/instruments of referenceData .*: check that the port in referenceData\.url \(REFERENCE_DATA_URL\) speaks TLS\.$/,
  });
});

test('a page is repeated once with new credentials after a 401, and no more', async (t) => {
  const seen: (string | undefined)[] = [];
  const { url } = await serve(t, (request, response) => {
    seen.push(request.headers.authorization);
    if (request.headers.authorization === 'Bearer good') response.writeHead(200, json).end('{}');
    else response.writeHead(401).end();
  });
  const log = keepingLog();
  const authorization = (tokens: string[]) => ({
    headers: async () => ({ authorization: 'Bearer old' }),
    renew: async () => {
      const token = tokens.shift();
      return token === undefined ? null : { authorization: `Bearer ${token}` };
    },
  });
  const client = (tokens: string[]) => clientFor(t, url, { authorization: authorization(tokens), log });
  assert.equal(await client(['good']).get(page, text, never), '{}');
  await assert.rejects(client(['bad', 'good']).get(page, text, never), { code: 'PROVIDER_UNAUTHORIZED' });
  await assert.rejects(client([]).get(page, text, never), { code: 'PROVIDER_UNAUTHORIZED', action: 'retrySlowly' });
  assert.deepEqual(seen, ['Bearer old', 'Bearer good', 'Bearer old', 'Bearer bad', 'Bearer old']);
  assert.doesNotMatch(log.lines.join(), /Bearer|good|bad/);
});

test('a connection that the server has closed meanwhile fails one request at most, and the next one passes', async (t) => {
  const { url, server } = await serve(t, (_, response) => void response.writeHead(200, json).end('{}'));
  const client = clientFor(t, url);
  await client.get(page, text, never);
  server.closeAllConnections();
  await client.get(page, text, never).catch((error) => assert.equal(error.code, 'PROVIDER_UNREACHABLE'));
  await delay(20);
  assert.equal(await client.get(page, text, never), '{}');
});

test('a request may have less time than the settings give, and its error does not advise to raise them', async (t) => {
  const { url } = await serve(t, () => {});
  const asked = clientFor(t, url, { timeoutMs: 60_000 }).get({ ...page, timeoutMs: 200 }, text, never);
  await assert.rejects(asked, { code: 'PROVIDER_TIMEOUT', message: /longer than 200 ms, (?!.*raise)/ });
});
