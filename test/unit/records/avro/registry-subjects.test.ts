import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { createRegistrySubjects } from '../../../../src/records/avro/registry.ts';
import { createRegistryHttp } from '../../../../src/records/avro/registry-http.ts';
import { readSchemaText } from '../../../../src/records/avro/schema-files.ts';
import { systemClock } from '../../../../src/support/clock.ts';
import { portOf } from '../../../support/network/loopback-port.ts';

const SCHEMA = readSchemaText('Instrument');
const NO_STOP = new AbortController().signal;

/** What is reported of a subject where every request gets this answer. */
async function subjectsAt(t: TestContext, status: number, type: string, body: string) {
  const server = createServer((_, response) => response.writeHead(status, { 'content-type': type }).end(body));
  const url = `http://127.0.0.1:${await portOf(t, server)}`;
  return createRegistrySubjects(createRegistryHttp({ url, timeoutMs: 20_000, clock: systemClock }));
}

const JSON_TYPE = 'application/json';
for (const [what, status, type, body] of [
  ['a path without the API', 404, JSON_TYPE, '{"status":404,"title":"RESTEASY003210: Could not find resource"}'],
  ['a provider', 404, 'application/problem+json', '{"type":"about:blank","title":"Not Found","status":404}'],
  ['a web page', 200, 'text/html', '<html></html>'],
  ['another JSON service', 200, JSON_TYPE, '{"instruments":[]}'],
  ['another method', 405, 'text/plain', 'no'],
] as const) {
  test(`${what} in the place of a registry is refused, and the path is hinted at`, async (t) => {
    const subjects = await subjectsAt(t, status, type, body);
    const hint = { code: 'REGISTRY_REFUSED', message: /schemaRegistry\.url .*\/apis\/ccompat\/v7/ };
    await assert.rejects(subjects.versions('s', SCHEMA, NO_STOP), hint);
    await assert.rejects(subjects.isCompatible('s', SCHEMA, NO_STOP), hint);
  });
}

test('a subject that a registry does not know has no versions, and takes any schema', async (t) => {
  const subjects = await subjectsAt(t, 404, JSON_TYPE, '{"error_code":40401,"message":"Subject not found."}');
  assert.deepEqual(await subjects.versions('s', SCHEMA, NO_STOP), []);
  assert.equal(await subjects.isCompatible('s', SCHEMA, NO_STOP), true);
  assert.equal(await subjects.level('s', NO_STOP), null);
});

test('what a registry itself refuses is reported without a hint at the path', async (t) => {
  const subjects = await subjectsAt(t, 403, JSON_TYPE, '{"message":"forbidden"}');
  await assert.rejects(subjects.versions('s', SCHEMA, NO_STOP), {
    code: 'REGISTRY_REFUSED',
    message: /^The schema registry answered 403 to the versions of s \(GET http:[^ ]+\/subjects\/s\/versions\)\.$/,
  });
});
