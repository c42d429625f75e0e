import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import type { HttpResponse } from '../../../../src/provider/http/http-response.ts';
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
  await assert.rejects(
    client.get(page, () => Promise.reject(wrong), never),
    (error: ConnectorError) => {
      assert.deepEqual([error.code, error.cause, error.fields], [wrong.code, cause, { byte: 3, endpoint: page.path }]);
      assert.equal(error.message, `GET ${url}${page.path} of referenceData: The body has no list.`);
      return true;
    },
  );
  const named = new ConnectorError('PROVIDER_BUSY', 'Of another request.', { fields: { endpoint: '/other' } });
  await assert.rejects(
    client.get(page, () => Promise.reject(named), never),
    named,
  );
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
  assert.match(log.lines[0] ?? '', /^answered .*"endpoint":"\/v1\/check\/\{id\}","status":200/);
  assert.doesNotMatch(log.lines.join(), /canary|42/);
});
