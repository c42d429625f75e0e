import assert from 'node:assert/strict';
import { createServer, type OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { ConnectorError } from '../../../../src/errors.ts';
import { isWithoutProxy } from '../../../../src/provider/http/dispatcher.ts';
import type { HttpResponse } from '../../../../src/provider/http/http-response.ts';
import { actionOf } from '../../../../src/provider/http/response-error.ts';
import { portOf } from '../../../support/network/loopback-port.ts';
import { clientFor, json, keepingLog, never, page, serve, serveRaw, text, until } from './loopback.ts';

test('an answer comes with the server clock and its decoded bytes', async (t) => {
  const { url } = await serve(t, (request, response) => {
    assert.equal(request.url, '/base/v1/instruments?limit=1000&legalCountry=D+E%26x');
    assert.equal(request.headers['cache-control'], 'no-cache');
    assert.match(request.headers['accept-encoding'] ?? '', /gzip/);
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      date: 'Sun, 06 Nov 1994 08:49:37 GMT',
      age: '0',
    });
    response.end('{"instruments":[]}');
  });
  const query = [...page.query, ['legalCountry', 'D E&x']] as const;
  const result = await clientFor(t, `${url}/base/`).get(
    { path: page.path, query },
    async (answer) => ({ ...answer, body: await text(answer), bytes: answer.bytes() }),
    never,
  );
  assert.equal(result.body, '{"instruments":[]}');
  assert.equal(result.date, Date.UTC(1994, 10, 6, 8, 49, 37));
  assert.equal(result.bytes, 18);
});

test('a post sends its JSON', async (t) => {
  const seen: string[] = [];
  const { url } = await serve(t, (request, response) => {
    request.setEncoding('utf8').on('data', (chunk: string) => seen.push(chunk));
    request.on('end', () => {
      seen.push(request.headers['content-type'] ?? '', request.headers.host ?? '');
      response.writeHead(200, json).end('{}');
    });
  });
  const request = { path: '/v1/products/bulk', query: [], body: '{"a":1}' };
  assert.equal(await clientFor(t, url).post(request, text, never), '{}');
  assert.deepEqual(seen, ['{"a":1}', 'application/json', new URL(url).host]);
});

test('connections are used again, also when the caller left the last bytes unread', async (t) => {
  const ports = new Set<number | undefined>();
  const { url } = await serve(t, (request, response) => {
    ports.add(request.socket.remotePort);
    response.writeHead(200, json).end('{"links":{}}        ');
  });
  const client = clientFor(t, url);
  for (let n = 0; n < 5; n++) await client.get(page, async () => 'nothing read', never);
  for (let n = 0; n < 5; n++) await client.get(page, text, never);
  for (let n = 0; n < 5; n++) {
    await client.get(
      page,
      async (answer) => {
        for await (const _ of answer.body) break;
      },
      never,
    );
  }
  // A connection is free again a moment after its answer has ended, so a second one may have been opened meanwhile, and
  // a machine that stood still for seconds has let go of those that it had. None of the three ways opens five.
  assert.ok(ports.size < 5, `${ports.size} connections for 15 requests`);
});

test('a long rest that the caller leaves unread is let go with its connection', async (t) => {
  let open = 0;
  const url = await serveRaw(t, (socket) => {
    open += 1;
    socket.on('close', () => {
      open -= 1;
    });
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n');
    socket.write(Buffer.alloc(400_000, 0x20));
  });
  const client = clientFor(t, url);
  assert.equal(await client.get(page, async () => 'enough', never), 'enough');
  await until(() => open === 0);
  assert.equal(open, 0);
});

test('what consume throws comes out, and the connection is let go', async (t) => {
  const { url } = await serve(t, (_, response) => void response.writeHead(200, json).end('{}'));
  const client = clientFor(t, url);
  const failing = client.get(page, () => Promise.reject(new RangeError('mine')), never);
  await assert.rejects(failing, new RangeError('mine'));
  assert.equal(await client.get(page, text, never), '{}');
});

test('what the reader of an answer finds wrong is reported with the request that was answered', async (t) => {
  const { url } = await serve(t, (_, response) => void response.writeHead(200, json).end('{}'));
  const client = clientFor(t, url);
  const cause = new Error('why');
  const wrong = new ConnectorError('BODY_MALFORMED', 'The body has no list.', { cause, fields: { byte: 3 } });
  const reading = client.get(page, () => Promise.reject(wrong), never);
  const message = `GET ${url}${page.path} of referenceData: The body has no list.`;
  await assert.rejects(reading, { code: wrong.code, cause, fields: { byte: 3, endpoint: page.path }, message });
  const named = new ConnectorError('PROVIDER_BUSY', 'Of another request.', { fields: { endpoint: '/other' } });
  const failing = client.get(page, () => Promise.reject(named), never);
  await assert.rejects(failing, named);
});

test('a caller that aborts gets its own reason, before and during the answer', async (t) => {
  let askedForHeaders = () => {};
  const { url } = await serve(t, (request, response) => {
    if (request.url?.includes('body')) response.writeHead(200, json).write('{');
    else askedForHeaders();
  });
  const client = clientFor(t, url);
  for (const path of ['/headers', '/body']) {
    const controller = new AbortController();
    const reason = new Error(`stopped during ${path}`);
    const stopSoon = () => void setTimeout(() => controller.abort(reason), 20);
    askedForHeaders = stopSoon;
    let seen: unknown;
    const consume = (answer: HttpResponse) => {
      stopSoon();
      return text(answer).catch((error) => {
        seen = error;
      });
    };
    await assert.rejects(client.get({ path, query: [] }, consume, controller.signal), reason);
    if (path === '/body') await until(() => seen !== undefined);
    assert.equal(seen, path === '/body' ? reason : undefined);
  }
  await assert.rejects(client.get(page, text, AbortSignal.abort(new Error('before'))), /before/);
});

test('a request that waits for a free connection is cut at its own deadline', async (t) => {
  const { url } = await serve(t, () => {});
  // One after the other over all connections, they take sixty times as long; a slow machine needs some time to ask.
  for (const timeoutMs of [400, 1_600, 6_400]) {
    const client = clientFor(t, url, { timeoutMs });
    const startedAt = performance.now();
    const all = await Promise.allSettled(Array.from({ length: 2_000 }, () => client.get(page, text, never)));
    assert.ok(all.every((one) => one.status === 'rejected' && one.reason.code === 'PROVIDER_TIMEOUT'));
    if (performance.now() - startedAt < 40 * timeoutMs) return;
  }
  assert.fail('they waited for one another, each for its own deadline');
});

test('a client that is closed cuts what is under way and answers nothing more', async (t) => {
  const arrived = Promise.withResolvers<void>();
  const { url } = await serve(t, () => arrived.resolve());
  const client = clientFor(t, url);
  const hanging = client.get(page, text, never);
  hanging.catch(() => {});
  await arrived.promise;
  await client.close();
  await assert.rejects(hanging, { code: 'PROVIDER_UNREACHABLE' });
  await assert.rejects(client.get(page, text, never), { code: 'PROVIDER_UNREACHABLE' });
});

test('the log names the endpoint and the status, and never the query', async (t) => {
  const log = keepingLog();
  const { url } = await serve(t, (_, response) => void response.writeHead(200, json).end('{}'));
  const request = {
    path: '/v1/pretradechecks/id/42',
    query: [['since', 'canary']] as const,
    endpoint: '/v1/check/{id}',
  };
  await clientFor(t, url, { log }).get(request, text, never);
  assert.equal(log.lines.length, 1);
  assert.match(log.lines[0] ?? '', /^request answered .*"endpoint":"\/v1\/check\/\{id\}","status":200/);
  assert.doesNotMatch(log.lines.join(), /canary|42/);
});

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

/** The error of a request with a key that the provider answers with this problem. */
async function errorOf(t: TestContext, problem: object, headers: OutgoingHttpHeaders = {}, isPost = false) {
  const { url } = await serve(t, (_, response) => {
    response.writeHead(400, { 'content-type': 'application/problem+json', ...headers });
    const body = JSON.stringify(problem);
    response.end(headers['content-encoding'] === 'gzip' ? gzipSync(body) : body);
  });
  const authorization = { headers: async () => ({ 'x-key': 'canary-key' }), renew: async () => null };
  const client = clientFor(t, url, { authorization });
  const asking = isPost ? client.post({ ...page, body: '{}' }, text, never) : client.get(page, text, never);
  return asking.catch((caught) => caught);
}

test('an error reports title and detail of the problem, escaped, cut, without addresses and what was sent', async (t) => {
  const detail = `\r\n\u001b[2J see https://host/x?since=1 for canary-key ${'x'.repeat(1_000)}`;
  const error = await errorOf(t, { title: 'Bad', detail, status: 400 }, { 'content-encoding': 'gzip' });
  assert.match(error.message, /400 \(Bad: \\u\{d\}\\u\{a\}\\u\{1b\}\[2J see \[address\] for \[secret\] x+…\)/);
  assert.ok(error.message.length < 500);
});

test('what a validation problem says of each name is kept in the fields, a few of it, without what was sent', async (t) => {
  const isin = ['is canary-key', 'is short'];
  const reasons = { 'items[3].isin': isin, fields: ['x\n'], a: [], b: 'text', c: [1], d: ['late'] };
  const date = 'Sun, 06 Nov 1994 08:49:37 GMT';
  const error = await errorOf(t, { title: 'Not valid', status: 400, errors: reasons }, { date }, true);
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
  const error = await errorOf(t, members);
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
  const said = /400 \(Bad; type: provider\.example\/errors\/busy#late; instance: \/v1\/instruments; traceId: /;
  assert.match(error.message, said);
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
    const swallowing = async (answer: HttpResponse) => {
      seen = await text(answer).catch((error) => error);
    };
    const reading = client.get(page, swallowing, never);
    await assert.rejects(reading, { code: 'BODY_INCOMPLETE', action: 'retry' }, head);
    assert.equal((seen as { code?: string })?.code, 'BODY_INCOMPLETE', head);
    const wrapping = async (answer: HttpResponse) => {
      await text(answer).catch(() => Promise.reject(new Error('the JSON ends early')));
    };
    await assert.rejects(client.get(page, wrapping, never), { code: 'BODY_INCOMPLETE' }, head);
    // A reader that stopped at the end of the JSON has not seen the cut; the client has.
    const early = client.get(page, async () => 'ended early', never);
    await assert.rejects(early, { code: 'BODY_INCOMPLETE' }, head);
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
      /GET http:[^ ]+\/v1\/instruments of referenceData .*"text\/html.* Check referenceData.url and .proxy/,
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
      /^GET https:[^ ]+\/v1\/instruments of referenceData .*: check that the port in referenceData\.url \(REFERENCE_DATA_URL\), or in referenceData\.proxy if it is set, speaks TLS\.$/,
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
  const shared = { name: 'marketData', login: 'referenceData.auth', authorization: authorization([]) } as const;
  await assert.rejects(clientFor(t, url, shared).get(page, text, never), /401; check referenceData\.auth and/);
  assert.deepEqual(seen, ['Bearer old', 'Bearer good', 'Bearer old', 'Bearer bad', 'Bearer old', 'Bearer old']);
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

test('each status has its action', () => {
  const expected: Readonly<Record<string, readonly number[]>> = {
    consume: [200, 201, 204],
    renewAuthorization: [401],
    PROVIDER_UNAUTHORIZED: [403],
    PROVIDER_BUSY: [408, 425, 429, 500, 501, 502, 503, 504, 529],
    PROVIDER_ASKS_FOR_LESS: [413],
    PROVIDER_REDIRECT: [300, 301, 302, 303, 304, 307, 308],
    PROVIDER_REFUSED: [400, 402, 404, 405, 409, 410, 414, 422, 431, 451],
    PROTOCOL_VIOLATION: [101, 199, 206, 600, 999],
  };
  for (const [action, statuses] of Object.entries(expected)) {
    for (const status of statuses) assert.equal(actionOf(status), action, String(status));
  }
});

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

test('NO_PROXY is read as elsewhere: names and what is below them, ports, addresses, their ranges, and a star for all', () => {
  const cases: readonly (readonly [url: string, exception: string, isWithout: boolean])[] = [
    ['https://api.example.com', 'example.com', true],
    ['https://api.example.com', '.example.com', true],
    ['https://api.example.com', '*.example.com', true],
    ['https://example.com', '.example.com', true],
    ['https://API.Example.com', 'api.EXAMPLE.com', true],
    ['https://badexample.com', 'example.com', false],
    ['https://example.com.evil', 'example.com', false],
    ['https://api.example.com', 'api.example.com:443', true],
    ['https://api.example.com:8443', 'api.example.com:443', false],
    ['http://api.example.com', 'api.example.com:80', true],
    ['https://10.0.0.7', '10.0.0.7', true],
    ['https://10.0.0.7', '10.0.0.0/8', true],
    ['https://11.0.0.7', '10.0.0.0/8', false],
    ['https://172.31.255.1:8443', '172.16.0.0/12', true],
    ['https://172.32.0.1', '172.16.0.0/12', false],
    ['https://[fd00::1]', 'fd00::/8', true],
    ['https://[fe80::1]', 'fd00::/8', false],
    ['https://[fd00::1]', '10.0.0.0/8', false],
    ['https://10.0.0.7', '10.0.0.0/33', false],
    ['https://10.0.0.7', '10.0.0.0/', false],
    ['https://ten.example', '10.0.0.0/8', false],
    ['https://[fd00::1]', 'fd00::1', true],
    ['https://[fd00::1]', '[fd00::1]', true],
    ['https://[fd00::1]:8443', '[fd00::1]:8443', true],
    ['https://[fd00::1]', '[fd00::1]:8443', false],
    ['https://api.example.com', '*', true],
    ['https://api.example.com', '', false],
    ['https://api.example.com', '.', false],
  ];
  for (const [url, exception, isWithout] of cases) {
    assert.equal(isWithoutProxy(new URL(url), [exception]), isWithout, `${url} ${exception}`);
  }
  assert.equal(isWithoutProxy(new URL('https://a.example'), ['b.example', 'a.example']), true);
  assert.equal(isWithoutProxy(new URL('https://a.example'), []), false);
});
