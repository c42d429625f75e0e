import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRedaction, isSecretKey } from '../../../src/observe/redaction.ts';

const CANARY = 'cänary "7f3a"/+ xy';

test('a registered secret is taken out in every usual encoding', () => {
  const redaction = createRedaction();
  redaction.register(CANARY);
  const forms = {
    plain: CANARY,
    json: JSON.stringify(CANARY).slice(1, -1),
    url: encodeURIComponent(CANARY),
    form: encodeURIComponent(CANARY).replaceAll('%20', '+'),
    base64: Buffer.from(CANARY).toString('base64'),
    base64url: Buffer.from(CANARY).toString('base64url'),
  };
  for (const [name, form] of Object.entries(forms)) {
    assert.equal(redaction.redact(`a${form}b${form}c`), 'a[redacted]b[redacted]c', name);
  }
});

test('a secret that changes is known in its old and its new form', () => {
  const redaction = createRedaction();
  redaction.register('first-secret');
  redaction.register('second-secret\n');
  assert.equal(redaction.redact('first-secret second-secret'), '[redacted] [redacted]');
});

test('however often a file is rotated, all secrets in force are known, and only its oldest ones are forgotten', () => {
  const redaction = createRedaction();
  redaction.register('of-the-environment');
  redaction.register('of-a-quiet-file', '/run/quiet');
  for (let n = 0; n < 1_000; n++) redaction.register(`secret-number-${n}-`, '/run/rotated');
  // Back to an old one, and on: it counts as the newest of the replaced ones.
  redaction.register('secret-number-0-', '/run/rotated');
  for (let n = 0; n < 50; n++) redaction.register(`later-number-${n}-`, '/run/rotated');
  const shown = (...texts: string[]) => redaction.redact(texts.join(' '));
  assert.equal(
    shown('of-the-environment', 'of-a-quiet-file', 'secret-number-999-', 'secret-number-0-', 'later-number-49-'),
    '[redacted] [redacted] [redacted] [redacted] [redacted]',
  );
  assert.equal(shown('secret-number-1-'), 'secret-number-1-');
});

test('a value too short to be a secret does not take every line apart', () => {
  const redaction = createRedaction();
  for (const short of ['', ' ', 'a', 'none']) redaction.register(short);
  assert.equal(redaction.redact('a none b'), 'a none b');
});

test('logins, queries and users of URLs go without being registered', () => {
  const { redact } = createRedaction();
  assert.equal(redact('authorization: Bearer eyJh.bGci-x_y='), 'authorization: Bearer [redacted]');
  assert.equal(redact('basic dXNlcjpwYXNz'), 'basic [redacted]');
  const words = 'not a bearer token; use basic authentication';
  assert.equal(redact(words), words);
  assert.equal(redact('send a bearer token.'), 'send a bearer token.');
  for (const secret of ['token-abc', 'token.abc', 'tokens', 'authentication=', 'authentication.x'])
    assert.equal(redact(`Bearer ${secret}`), 'Bearer [redacted]');
  assert.equal(redact('GET https://a.example/b?token=x&y=z failed'), 'GET https://a.example/b?[redacted] failed');
  assert.equal(redact('http://u:p@ss@a.example/b'), 'http://[redacted]@a.example/b');
  assert.equal(redact('https://a.example/x@y'), 'https://a.example/x@y');
  assert.equal(redact('https://a.example:8443/b/c and text'), 'https://a.example:8443/b/c and text');
});

test('fields are secret by their name, whatever the casing', () => {
  const headers = ['authorization', 'Proxy-Authorization', 'set-cookie', 'x-api-key'];
  const members = ['access_token', 'clientSecret', 'PASSWORD', 'apiKey', 'private_key'];
  for (const key of [...headers, ...members, 'simulationUrl', 'simulation_url']) {
    assert.equal(isSecretKey(key, 'x'), true, key);
  }
  for (const key of ['tokenUrl', 'clientSecretFile', 'tokenType', 'key', 'url', 'source', 'cursor', 'walk']) {
    assert.equal(isSecretKey(key, 'x'), false, key);
  }
  assert.equal(isSecretKey('tokenAgeMs', 5), false);
});

test('a million characters take no time', () => {
  const redaction = createRedaction();
  redaction.register('abcdef-secret');
  const before = process.cpuUsage();
  for (const text of ['http://', 'bearer ', 'bearer', '@', 'https://a@b?', ' ', 'abcdef-']) {
    redaction.redact(text.repeat(1_000_000 / text.length));
  }
  assert.ok(process.cpuUsage(before).user < 10_000_000);
});

test('a variable in brackets is omitted where it has no effect', () => {
  const redaction = createRedaction();
  redaction.omit('KAFKA_BROKERS');
  const text = 'Set kafka.brokers (KAFKA_BROKERS), kafka.ssl (KAFKA_SSL=true) or KAFKA_BROKERS.';
  assert.equal(redaction.redact(text), 'Set kafka.brokers, kafka.ssl (KAFKA_SSL=true) or KAFKA_BROKERS.');
});
