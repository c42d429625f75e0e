import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWithoutProxy } from '../../../../src/provider/http/dispatcher.ts';

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
