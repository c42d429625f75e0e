import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStandingClock } from '../../../src/simulator/clock.ts';
import { askToken, startProvider } from './provider-client.ts';

const LIST = '/reference-data/v1/instruments?limit=1';
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
});

test('client_secret_basic and client_secret_post both give a token that is not to be stored', async (t) => {
  const { simulator } = await startProvider(t, { clientId: 'a client', clientSecret: 'pä:ss&wörd+' });
  const none = { client_id: '', client_secret: '' };
  const answers = [
    await askToken(simulator),
    await askToken(simulator, none, basic(simulator.clientId, simulator.clientSecret)),
  ];
  for (const { status, json, headers } of answers) {
    assert.equal(status, 200);
    assert.equal(headers['cache-control'], 'no-store');
    assert.deepEqual(
      { ...json, access_token: '' },
      { access_token: '', token_type: 'Bearer', expires_in: 3_600, scope: 'openid' },
    );
    assert.ok(json.access_token.length > 20);
  }
  assert.notEqual(answers[0]?.json.access_token, answers[1]?.json.access_token);
});

test('wrong credentials, grant, scope and content type are refused as RFC 6749 says', async (t) => {
  const { simulator } = await startProvider(t);
  const wrong = await askToken(simulator, { client_secret: 'wrong' });
  assert.deepEqual(
    [wrong.status, wrong.json.error, wrong.headers['www-authenticate']?.slice(0, 5)],
    [401, 'invalid_client', 'Basic'],
  );
  const refused = [
    [{ grant_type: 'password' }, {}, 'unsupported_grant_type'],
    [{ scope: 'everything' }, {}, 'invalid_scope'],
    [{}, basic(simulator.clientId, simulator.clientSecret), 'invalid_request'],
    [{}, { 'content-type': 'application/json' }, 'invalid_request'],
  ] as const;
  for (const [fields, headers, error] of refused) {
    const answer = await askToken(simulator, fields, headers);
    assert.deepEqual([answer.status, answer.json.error], [400, error]);
  }
});

test('every endpoint asks for a token, and says so with a problem', async (t) => {
  const { get, post } = await startProvider(t);
  const paths = [
    '/reference-data/v1/instruments',
    '/reference-data/v1/instruments/my',
    '/reference-data/v1/instruments/events',
    '/reference-data/v1/instruments/events/my',
    '/reference-data/v1/pretradechecks',
    '/reference-data/v1/pretradechecks/id/x',
    '/market-data/v1/products/CH/prices/intraday',
    '/market-data/v1/products/CH/prices/daily',
    '/market-data/v1/products/CH/prices/overview',
  ];
  for (const authorization of ['', 'Bearer nonsense', 'Basic abc']) {
    const answers = await Promise.all(paths.map((path) => get(path, { authorization })));
    answers.push(await post('/market-data/v1/products/bulk', '{"items":[]}', { authorization }));
    for (const { status, headers, json } of answers) {
      assert.equal(status, 401);
      assert.match(headers['content-type'] ?? '', /^application\/problem\+json/);
      assert.match(headers['www-authenticate'] ?? '', /^Bearer/);
      assert.equal(json.status, 401);
    }
  }
});

test('a token ends with its lifetime on the simulated clock, and when all are made invalid', async (t) => {
  const clock = createStandingClock(Date.UTC(2026, 0, 5));
  const provider = await startProvider(t, { clock, tokenLifetimeSeconds: 10 });
  clock.advance(9_999);
  assert.equal((await provider.get(LIST)).status, 200);
  clock.advance(1);
  assert.equal((await provider.get(LIST)).status, 401);
  await provider.login();
  assert.equal((await provider.get(LIST)).status, 200);
  provider.simulator.expireTokens();
  assert.equal((await provider.get(LIST)).status, 401);
});

test('nothing asks for a token when authentication is off', async (t) => {
  const provider = await startProvider(t, { auth: false });
  assert.equal((await provider.get(LIST)).status, 200);
});

test('the Date header and all times go by the simulated clock', async (t) => {
  const clock = createStandingClock(Date.UTC(2026, 0, 5, 12));
  const provider = await startProvider(t, { clock, auth: false });
  assert.equal((await provider.get(LIST)).headers.date, 'Mon, 05 Jan 2026 12:00:00 GMT');
  provider.simulator.advanceClock(8 * 86_400_000);
  assert.equal((await provider.get(LIST)).headers.date, 'Tue, 13 Jan 2026 12:00:00 GMT');
});
