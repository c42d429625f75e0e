import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError, type ErrorCode } from '../../../src/errors.ts';
import { createSchemaRegistry } from '../../../src/records/avro/registry.ts';
import { readSchemaText } from '../../../src/records/avro/schema-files.ts';
import { systemClock } from '../../../src/support/clock.ts';
import { stackOrSkip, uniquePrefix } from '../../support/kafka/stack.ts';

const SCHEMA = readSchemaText('Instrument');
const silent = () => {};
const log = { debug: silent, info: silent, warn: silent, error: silent };

function registryAt(url: string, register: boolean) {
  return createSchemaRegistry({ url, register, timeoutMs: 30_000, clock: systemClock, log });
}

function failsWith(code: ErrorCode) {
  return (error: unknown) => error instanceof ConnectorError && error.code === code;
}

test('a real registry takes the schema once, keeps it FULL_TRANSITIVE and refuses what is not compatible', async (t) => {
  const stack = await stackOrSkip(t);
  if (!stack) return;
  const url = stack.registryUrl;
  const subject = `${uniquePrefix('registry')}.instruments-value`;
  const signal = AbortSignal.timeout(600_000);

  await assert.rejects(registryAt(url, false).schemaId(subject, SCHEMA, signal), failsWith('SCHEMA_NOT_REGISTERED'));

  const id = await registryAt(url, true).schemaId(subject, SCHEMA, signal);
  assert.ok(id > 0);
  assert.equal(await registryAt(url, true).schemaId(subject, SCHEMA, signal), id);
  assert.equal(await registryAt(url, false).schemaId(subject, SCHEMA, signal), id);
  const level = await fetch(`${url}/config/${subject}`, { signal });
  assert.deepEqual(await level.json(), { compatibilityLevel: 'FULL_TRANSITIVE' });
  const versions = await fetch(`${url}/subjects/${subject}/versions`, { signal });
  assert.deepEqual(await versions.json(), [1]);

  const incompatible = SCHEMA.replace(
    '{"name":"quanto","type":["null","boolean"]',
    '{"name":"quanto","type":["null","long"]',
  );
  assert.notEqual(incompatible, SCHEMA);
  await assert.rejects(registryAt(url, true).schemaId(subject, incompatible, signal), failsWith('SCHEMA_INCOMPATIBLE'));

  const wider = SCHEMA.replace('"fields":[', '"fields":[{"name":"added","type":["null","string"],"default":null},');
  const widerId = await registryAt(url, true).schemaId(subject, wider, signal);
  assert.notEqual(widerId, id);
  assert.equal(await registryAt(url, false).schemaId(subject, SCHEMA, signal), id);
});
