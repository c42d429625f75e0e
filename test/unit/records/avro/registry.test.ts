import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { ConnectorError, type ErrorCode } from '../../../../src/errors.ts';
import {
  createRegistrySubjects,
  createSchemaRegistry,
  type SchemaRegistryOptions,
} from '../../../../src/records/avro/registry.ts';
import { createRegistryHttp } from '../../../../src/records/avro/registry-http.ts';
import { readSchemaText } from '../../../../src/records/avro/schema-files.ts';
import { systemClock } from '../../../../src/support/clock.ts';
import { type RegistryReply, startFakeRegistry } from '../../../support/decoding/avro-registry.ts';
import { portOf } from '../../../support/network/loopback-port.ts';

const SUBJECT = 'a.instruments-value';
const CONFIG = `/config/${SUBJECT}`;
const SUBJECTS = `/subjects/${SUBJECT}`;
const SCHEMA = readSchemaText('Instrument');
const NO_STOP = new AbortController().signal;
const silent = () => {};

function registryAt(url: string, options: Partial<SchemaRegistryOptions> = {}) {
  const log = { debug: silent, info: silent, warn: silent, error: silent };
  return createSchemaRegistry({ url, register: true, timeoutMs: 20_000, clock: systemClock, log, ...options });
}

function failsWith(code: ErrorCode, message = /./) {
  return (error: unknown) => {
    assert.ok(error instanceof ConnectorError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, message);
    return true;
  };
}

test('a new subject gets its compatibility before its first schema, and the id is verified', async (t) => {
  const { url, calls } = await startFakeRegistry(t);
  assert.equal(await registryAt(`${url}/`).schemaId(SUBJECT, SCHEMA, NO_STOP), 42);
  const changes = calls.map(({ name }) => name);
  assert.ok(changes.indexOf(`PUT ${CONFIG}`) < changes.indexOf(`POST ${SUBJECTS}/versions`), changes.join(', '));
  assert.deepEqual(calls.find(({ name }) => name === `PUT ${CONFIG}`)?.body, { compatibility: 'FULL_TRANSITIVE' });
  assert.equal(changes.at(-1), 'GET /schemas/ids/42');
});

test('a schema that is there already is looked up and verified, and registered only when the registry means another one', async (t) => {
  const { url, calls, replies } = await startFakeRegistry(t);
  assert.equal(await registryAt(url).schemaId(SUBJECT, SCHEMA, NO_STOP), 42);
  const names = async () => {
    const before = calls.length;
    assert.equal(await registryAt(url).schemaId(SUBJECT, SCHEMA, NO_STOP), 42);
    return calls.slice(before).map(({ name }) => name);
  };
  const lookUp = [`GET ${CONFIG}`, `POST ${SUBJECTS}`];
  assert.deepEqual(await names(), [...lookUp, 'GET /schemas/ids/42']);
  replies.set(`POST ${SUBJECTS}`, { status: 200, body: { id: 41 } });
  replies.set('GET /schemas/ids/41', { status: 200, body: { schema: '"string"' } });
  const registration = [`GET ${CONFIG}`, `POST ${SUBJECTS}/versions`, 'GET /schemas/ids/42'];
  assert.deepEqual(await names(), [...lookUp, 'GET /schemas/ids/41', ...registration]);
});

test('an id is asked for once, and again only after a failure or for another schema', async (t) => {
  const { url, calls, replies } = await startFakeRegistry(t);
  const registry = registryAt(url);
  replies.set('GET /schemas/ids/42', { status: 503, body: {} });
  await assert.rejects(registry.schemaId(SUBJECT, SCHEMA, NO_STOP), failsWith('REGISTRY_UNREACHABLE', /503/));
  replies.clear();
  await registry.schemaId(SUBJECT, SCHEMA, NO_STOP);
  const asked = calls.length;
  await registry.schemaId(SUBJECT, SCHEMA, NO_STOP);
  assert.equal(calls.length, asked);
  await registry.schemaId(SUBJECT, SCHEMA.replace('Issue price', 'The issue price'), NO_STOP);
  assert.ok(calls.length > asked);
});

test('those who want the same id at once ask once, and share a failure; who is asked to stop waits for nobody', async (t) => {
  const { url, calls, replies } = await startFakeRegistry(t);
  const registry = registryAt(url);
  replies.set(`GET ${CONFIG}`, { status: 503, body: {} });
  const failed = await Promise.allSettled([1, 2, 3].map(() => registry.schemaId(SUBJECT, SCHEMA, NO_STOP)));
  assert.deepEqual([failed.map(({ status }) => status), calls.length], [Array(3).fill('rejected'), 1]);

  replies.set(`GET ${CONFIG}`, undefined);
  const [asking, waiting] = [new AbortController(), new AbortController()];
  const first = registry.schemaId(SUBJECT, SCHEMA, asking.signal);
  const second = registry.schemaId(SUBJECT, SCHEMA, waiting.signal);
  const next = [1, 2, 3].map(() => registry.schemaId(SUBJECT, SCHEMA, NO_STOP));
  waiting.abort(new ConnectorError('WRITER_FENCED', 'The partition is lost.'));
  await assert.rejects(second, failsWith('WRITER_FENCED'));
  replies.clear();
  asking.abort(new ConnectorError('WRITER_FENCED', 'The partition is lost.'));
  await assert.rejects(first, failsWith('WRITER_FENCED'));
  assert.deepEqual(await Promise.all(next), [42, 42, 42]);
  assert.equal(calls.filter(({ name }) => name === `PUT ${CONFIG}`).length, 1);
});

test('a compatibility that another process is just setting is right when it is set, and else asked for again', async (t) => {
  const { url, replies } = await startFakeRegistry(t);
  replies.set(`PUT ${CONFIG}`, { status: 409, body: {} });
  await assert.rejects(registryAt(url).schemaId(SUBJECT, SCHEMA, NO_STOP), failsWith('REGISTRY_UNREACHABLE', /409/));
  replies.set(`PUT ${CONFIG}`, 'raced');
  assert.equal(await registryAt(url).schemaId(SUBJECT, SCHEMA, NO_STOP), 42);
});

test('a subject of another compatibility is corrected with a warning, one that is right is left alone', async (t) => {
  const { url, calls } = await startFakeRegistry(t, 'NONE');
  const warnings: unknown[] = [];
  const log = { debug: silent, info: silent, warn: (fields: object) => warnings.push(fields), error: silent };
  assert.equal(await registryAt(url, { log }).schemaId(SUBJECT, SCHEMA, NO_STOP), 42);
  assert.equal(await registryAt(url, { log }).schemaId(SUBJECT, SCHEMA, NO_STOP), 42);
  assert.deepEqual(warnings, [{ subject: SUBJECT, level: 'NONE', wanted: 'FULL_TRANSITIVE' }]);
  assert.equal(calls.filter(({ name }) => name === `PUT ${CONFIG}`).length, 1);
});

test('with register: false nothing is changed, and a schema that is not there stops the source', async (t) => {
  const { url, calls } = await startFakeRegistry(t);
  const registry = registryAt(url, { register: false });
  await assert.rejects(registry.schemaId(SUBJECT, SCHEMA, NO_STOP), failsWith('SCHEMA_NOT_REGISTERED'));
  await registryAt(url).schemaId(SUBJECT, SCHEMA, NO_STOP);
  const before = calls.length;
  assert.equal(await registry.schemaId(SUBJECT, SCHEMA, NO_STOP), 42);
  const names = calls.slice(before).map(({ name }) => name);
  assert.deepEqual(names, [`POST ${SUBJECTS}`, 'GET /schemas/ids/42']);
});

test('a refusal as incompatible stops the source', async (t) => {
  const { url, replies } = await startFakeRegistry(t);
  replies.set(`POST ${SUBJECTS}/versions`, { status: 409, body: { error_code: 409 } });
  const incompatible = failsWith('SCHEMA_INCOMPATIBLE', /a\.instruments-value/);
  await assert.rejects(registryAt(url).schemaId(SUBJECT, SCHEMA, NO_STOP), incompatible);
});

const OTHER_SCHEMAS: readonly { what: string; held: string }[] = [
  { what: 'another record', held: '{"type":"record","name":"A","fields":[{"name":"a","type":"long"}]}' },
  { what: 'another decimal scale', held: SCHEMA.replace('"scale":18', '"scale":2') },
  {
    what: 'another field order',
    held: SCHEMA.replace('"name":"paymentDate"', '"name":"x"')
      .replace('"name":"repaymentDate"', '"name":"paymentDate"')
      .replace('"name":"x"', '"name":"repaymentDate"'),
  },
  { what: 'no decimal at all', held: SCHEMA.replaceAll(',"logicalType":"decimal","precision":38,"scale":18', '') },
  { what: 'what is no schema', held: '{"type":"enum","name":"E","symbols":["A"]}' },
  { what: 'what is no JSON', held: 'schema' },
];

for (const { what, held } of OTHER_SCHEMAS) {
  test(`${what} under the id is a mismatch, and the id is never used`, async (t) => {
    assert.notEqual(held, SCHEMA);
    const { url, replies } = await startFakeRegistry(t);
    replies.set('GET /schemas/ids/42', { status: 200, body: { schema: held } });
    for (const register of [true, false]) {
      replies.set(`POST ${SUBJECTS}`, { status: 200, body: { id: 42 } });
      const mismatch = failsWith('REGISTRY_MISMATCH', /id 42/);
      await assert.rejects(registryAt(url, { register }).schemaId(SUBJECT, SCHEMA, NO_STOP), mismatch);
    }
  });
}

const REFUSED_CALLS = [`GET ${CONFIG}`, `PUT ${CONFIG}`, `POST ${SUBJECTS}/versions`, 'GET /schemas/ids/42'];
const FAULTS: readonly { what: string; reply: RegistryReply; code: ErrorCode }[] = [
  { what: '500', reply: { status: 500, body: {} }, code: 'REGISTRY_UNREACHABLE' },
  { what: '429', reply: { status: 429, body: {} }, code: 'REGISTRY_UNREACHABLE' },
  { what: '403', reply: { status: 403, body: { error_code: 40301 } }, code: 'REGISTRY_REFUSED' },
  { what: 'a redirect', reply: { status: 302, body: {} }, code: 'REGISTRY_REFUSED' },
  { what: 'an answer that is cut', reply: { cut: '{"id":' }, code: 'REGISTRY_UNREACHABLE' },
  { what: 'a connection that breaks', reply: 'break', code: 'REGISTRY_UNREACHABLE' },
  { what: 'no answer', reply: undefined, code: 'REGISTRY_UNREACHABLE' },
];

for (const { what, reply, code } of FAULTS) {
  test(`${what} to any of the calls is ${code} within the deadline`, async (t) => {
    const { url, replies } = await startFakeRegistry(t);
    for (const call of REFUSED_CALLS) {
      replies.clear();
      replies.set(call, reply);
      const startedMs = performance.now();
      // Where an answer comes whole, the deadline must not come first.
      const patience = typeof reply === 'object' && 'status' in reply ? {} : { timeoutMs: 500 };
      await assert.rejects(registryAt(url, patience).schemaId(SUBJECT, SCHEMA, NO_STOP), failsWith(code));
      assert.ok(performance.now() - startedMs < 60_000, call);
    }
  });
}

test('a port that speaks no TLS is named with the request and its setting', async (t) => {
  const { url } = await startFakeRegistry(t);
  const says =
    /^GET https:[^ ]+ of schemaRegistry .*: check that the port in schemaRegistry\.url \(SCHEMA_REGISTRY_URL\), or in schemaRegistry\.proxy if it is set, speaks TLS\.$/;
  const asked = registryAt(url.replace('http:', 'https:')).schemaId(SUBJECT, SCHEMA, NO_STOP);
  await assert.rejects(asked, failsWith('REGISTRY_UNREACHABLE', says));
});

test('every request carries fresh credentials, and no error shows them', async (t) => {
  const { url, calls } = await startFakeRegistry(t);
  let asked = 0;
  const fresh = async () => ({ authorization: `Basic canary${++asked}` });
  const authorization = { headers: fresh, renew: fresh };
  await registryAt(url, { authorization }).schemaId(SUBJECT, SCHEMA, NO_STOP);
  assert.ok(calls.every((call) => call.authorization?.startsWith('Basic canary')));
  assert.ok(new Set(calls.map((call) => call.authorization)).size >= 4);
  for (const call of REFUSED_CALLS) {
    const refusing = await startFakeRegistry(t);
    refusing.replies.set(call, { status: 401, body: { message: 'canary' } });
    await assert.rejects(
      registryAt(refusing.url, { authorization }).schemaId(SUBJECT, SCHEMA, NO_STOP),
      (error: Error) => {
        assert.doesNotMatch(JSON.stringify([error.message, error, error.cause]), /canary/);
        return failsWith('REGISTRY_REFUSED')(error);
      },
    );
  }
});

test('a stop ends a call at once with its own reason', async (t: TestContext) => {
  const { url, replies } = await startFakeRegistry(t);
  for (const call of REFUSED_CALLS) {
    replies.clear();
    replies.set(call, undefined);
    const stop = new AbortController();
    const reason = new Error('stopping');
    setTimeout(() => stop.abort(reason), 50);
    await assert.rejects(registryAt(url).schemaId(SUBJECT, SCHEMA, stop.signal), reason);
  }
});

/** What is reported of a subject where every request gets this answer. */
async function subjectsAt(t: TestContext, status: number, type: string, body: string) {
  const server = createServer((_, response) => response.writeHead(status, { 'content-type': type }).end(body));
  const url = `http://127.0.0.1:${await portOf(t, server)}`;
  return createRegistrySubjects(createRegistryHttp({ url, timeoutMs: 20_000, clock: systemClock }));
}

const JSON_TYPE = 'application/json';
for (const [what, status, type, body] of [
  ['a path without the API', 404, JSON_TYPE, '{"status":404,"title":"RESTEASY003210: Could not find resource"}'],
  ['the path of another API', 404, JSON_TYPE, '{"error_code":404,"message":"Could not find resource for full path"}'],
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

test('under another level, a schema must fit all versions as FULL_TRANSITIVE asks', async (t) => {
  const held = { type: 'record', name: 'Other', fields: [{ name: 'a', type: 'string' }] };
  for (const [level, schema, expected] of [
    ['NONE', JSON.stringify(held), false],
    ['NONE', SCHEMA, true],
    ['FULL_TRANSITIVE', JSON.stringify(held), true],
  ] as const) {
    const server = createServer(({ url = '' }, response) => {
      const answer = url.startsWith('/compatibility')
        ? { is_compatible: true }
        : url.startsWith('/config')
          ? { compatibilityLevel: level }
          : url.endsWith('/versions')
            ? [1]
            : { id: 7, version: 1, schema };
      response.writeHead(200, { 'content-type': JSON_TYPE }).end(JSON.stringify(answer));
    });
    const url = `http://127.0.0.1:${await portOf(t, server)}`;
    const subjects = createRegistrySubjects(createRegistryHttp({ url, timeoutMs: 20_000, clock: systemClock }));
    assert.equal(await subjects.isCompatible('s', SCHEMA, NO_STOP), expected, `${level} ${schema}`);
  }
});

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
