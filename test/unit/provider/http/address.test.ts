import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress, requestTarget } from '../../../../src/provider/http/address.ts';

test('only https is spoken, or http on loopback or where it is allowed', () => {
  const near = ['http://localhost:1', 'http://127.0.0.1', 'http://[::1]:2', 'http://127.1/'];
  for (const text of ['https://provider.example/api', ...near])
    assert.ok(parseAddress(text, 'referenceData.url', false));
  assert.ok(parseAddress('http://provider.example', 'referenceData.url', true));
  const far = ['provider.example', 'localhost.evil.example', '127.0.0.1.evil.example', '0.0.0.0'];
  const others = ['ftp://127.0.0.1', 'file:///etc/passwd', '//provider.example', 'canary'];
  const extended = ['https://user:canary@provider.example', 'https://provider.example/#canary'];
  for (const text of [...far.map((host) => `http://${host}`), ...others, ...extended]) {
    assert.throws(
      () => parseAddress(text, 'referenceData.url', false),
      (error: Error & { code?: string }) =>
        error.code === 'SETTINGS_INVALID' && /referenceData\.url/.test(error.message) && !/canary/.test(error.message),
      text,
    );
  }
});

test('a path that is no plain path is not sent', () => {
  const base = new URL('https://provider.example/api');
  const elsewhere = ['//evil/x', '/\\evil/x', '\\\\evil\\x', '/\t/evil/x', 'https://evil/x', '/v1/\r\nx: y'];
  const upwards = ['/v1/../../x', '/v1/%2e%2e/x', '/./x', '/v1//x'];
  const others = ['', 'v1', '/v1?since=1', '/v1#x', '/v1/é', `/${'x'.repeat(3_000)}`];
  for (const path of [...elsewhere, ...upwards, ...others])
    assert.throws(() => requestTarget(base, path, []), { code: 'PROTOCOL_VIOLATION' }, path);
  assert.throws(() => requestTarget(base, '/v1', [['since', 'x'.repeat(9_000)]]), { code: 'PROTOCOL_VIOLATION' });
});

test('a path of a million characters is refused quickly', () => {
  const before = process.cpuUsage();
  assert.throws(() => requestTarget(new URL('https://provider.example'), `${'/a'.repeat(500_000)}\n`, []));
  assert.ok(process.cpuUsage(before).user < 2_000_000);
});
