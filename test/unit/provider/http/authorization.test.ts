import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AuthorizationSettings, createAuthorization } from '../../../../src/provider/http/authorization.ts';
import { never } from './loopback.ts';
import { oauth2, options, value } from './token-endpoint.ts';

test('a secret that cannot be read or sent fails so that it is tried again, and is not shown', async () => {
  for (const token of [
    () => Promise.reject(new Error('no such file')),
    async () => '',
    async () => 'canary\nx: y',
    async () => 'canary ',
    async () => 'canaryé',
  ]) {
    const error = await value(createAuthorization({ type: 'bearer', token }, options())).catch((caught) => caught);
    assert.equal(error.code, 'TOKEN_FAILED');
    assert.match(error.message, /marketData\.auth\.token/);
    assert.doesNotMatch(error.message, /canary/);
  }
});

test('the password of a basic login may have any characters, since it is encoded', async () => {
  const password = 'Zürich 2026 €';
  const authorization = createAuthorization({ type: 'basic', user: 'Zoë', password: async () => password }, options());
  const { authorization: sent = '' } = await authorization.headers(never);
  assert.equal(Buffer.from(sent.slice('Basic '.length), 'base64').toString('utf8'), `Zoë:${password}`);

  const empty = createAuthorization({ type: 'basic', user: 'user', password: async () => '' }, options());
  await assert.rejects(empty.headers(never), { code: 'TOKEN_FAILED', message: 'marketData.auth.password is empty.' });
});

test('settings that cannot work are refused at once, by name and without their values', () => {
  const secret = async () => 'x';
  for (const [settings, message] of [
    [oauth2('http://idp.example/token'), /marketData\.auth\.tokenUrl is plain http beyond loopback/],
    [oauth2('canary'), /marketData\.auth\.tokenUrl is not an address/],
    [oauth2('https://user:canary@idp.example/'), /holds a user or a password/],
    [{ type: 'basic', user: 'a:canary', password: secret }, /marketData\.auth\.user holds a colon/],
    [{ type: 'apiKey', header: 'Host', value: secret }, /marketData\.auth\.header/],
    [{ type: 'apiKey', header: 'a b', value: secret }, /marketData\.auth\.header/],
  ] satisfies [AuthorizationSettings, RegExp][]) {
    assert.throws(
      () => createAuthorization(settings, options()),
      (error: Error & { code?: string }) =>
        error.code === 'SETTINGS_INVALID' && message.test(error.message) && !error.message.includes('canary'),
    );
  }
});
