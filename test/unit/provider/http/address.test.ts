import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress, requestTarget } from '../../../../src/provider/http/address.ts';

test('only https is spoken, or http on loopback or where it is allowed', () => {
  for (const text of [
    'https://provider.example/api',
    'http://localhost:1',
    'http://127.0.0.1',
    'http://[::1]:2',
    'http://127.1/',
  ])
    assert.ok(parseAddress(text, 'referenceData.url', false));
  assert.ok(parseAddress('http://provider.example', 'referenceData.url', true));
  for (const text of [
    'http://provider.example',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
    'http://0.0.0.0',
    'ftp://127.0.0.1',
    'file:///etc/passwd',
    '//provider.example',
    'canary',
    'https://user:canary@provider.example',
    'https://provider.example/#canary',
  ]) {
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
  const hostile = [
    '',
    'v1',
    '//evil/x',
    '/\\evil/x',
    '\\\\evil\\x',
    '/\t/evil/x',
    '/v1/../../x',
    '/v1/%2e%2e/x',
    '/./x',
    '/v1//x',
    '/v1?since=1',
    '/v1#x',
    'https://evil/x',
    '/v1/\r\nx: y',
    '/v1/é',
    `/${'x'.repeat(3_000)}`,
  ];
  for (const path of hostile) assert.throws(() => requestTarget(base, path, []), { code: 'PROTOCOL_VIOLATION' }, path);
  assert.throws(() => requestTarget(base, '/v1', [['since', 'x'.repeat(9_000)]]), { code: 'PROTOCOL_VIOLATION' });
});

test('a path of a million characters is refused quickly', () => {
  const before = process.cpuUsage();
  assert.throws(() => requestTarget(new URL('https://provider.example'), `${'/a'.repeat(500_000)}\n`, []));
  assert.ok(process.cpuUsage(before).user < 2_000_000);
});
