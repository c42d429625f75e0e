import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import { readJson } from '../../../../src/records/json/json-scanner.ts';
import { toJsonText } from '../../../../src/records/json/json-value.ts';
import { chunked } from '../../../support/decoding/avro-decoding.ts';

test('numbers stay as they were written, and keys as they are', async () => {
  const text = '[1.0,1.00,1e0,9007199254740993,-0,0E-8,1E400,0.1234567890123456789012345678,{"__proto__":1}]';
  const value = await readJson(chunked(text));
  assert.equal(toJsonText(value), text);
  assert.equal(toJsonText(value, 2).replaceAll(/\s/g, ''), text);
});

test('a body that is not JSON, too deep or too long is refused without a word of it', async () => {
  const deep = '['.repeat(100_000) + ']'.repeat(100_000);
  const bodies = ['', '{"canary":NaN}', '{"canary":1', '\ufeff"canary"', deep, Buffer.from('"canary\xe9"', 'latin1')];
  for (const body of [...bodies, `"canary${'x'.repeat(600_000)}"`]) {
    await assert.rejects(readJson(chunked(body)), (error) => {
      assert.ok(error instanceof ConnectorError && error.code === 'BODY_MALFORMED', String(error));
      assert.doesNotMatch(`${error.message} ${error.cause}`, /canary/);
      return true;
    });
  }
});
