import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chunked, decodeRow, instrumentDecoder, readRow } from '../../../support/decoding/avro-decoding.ts';

async function malformed(body: string | Uint8Array, message: RegExp): Promise<void> {
  await assert.rejects(instrumentDecoder().decode(chunked(body)), {
    name: 'ConnectorError',
    code: 'BODY_MALFORMED',
    message,
  });
}

test('a body that is not the expected JSON is refused, with what was found at which byte', async () => {
  await malformed('<!doctype html><title>Maintenance</title>', /byte 0: found "<", expected an object/);
  await malformed('', /byte 0: found the end, expected an object/);
  await malformed('[{"id":1}]', /found "\[", expected an object/);
  await malformed('\ufeff{"instruments":[]}', /byte order mark/);
  await malformed('{"instruments":[{"id":NaN}]}', /byte 22: found a letter, expected a value/);
  await malformed('{"instruments":[{"id":01}]}', /byte 23: found a digit, expected a comma/);
  await malformed('{"instruments":[{"id":1}', /byte 24: found the end/);
  await malformed('{"instruments":[]} ]', /expected the end of the text/);
  await malformed('{"links":{}}', /has no "instruments"/);
  await malformed('{"instruments":null}', /has null as "instruments"; expected an array/);
  await malformed('{"instruments":{"id":1}}', /has an object as "instruments"; expected an array/);
  await malformed(`{"instruments":[{"a":${'['.repeat(100_000)}`, /found the end/);
  await malformed(`{"instruments":[],"a":${'['.repeat(65)}${']'.repeat(65)}}`, /nesting deeper than 64/);
  await malformed(Buffer.from('{"instruments":[],"a":"\xe9"}', 'latin1'), /byte 23: found a byte that is not UTF-8/);
  await malformed(Buffer.from('{"instruments":[{"id":\xe9}]}', 'latin1'), /found byte 0xe9, expected a value/);
});

test('a value that is longer than the topic takes is a failure with its key', async () => {
  const row = `{"id":12,"name":"${'x'.repeat(2_000)}"}`;
  const fitting = await decodeRow(row);
  assert.ok(fitting.kind === 'record');
  assert.equal((await decodeRow(row, { maxValueBytes: fitting.value.length })).kind, 'record');
  const failure = await decodeRow(row, { maxValueBytes: fitting.value.length - 1 });
  assert.ok(failure.kind === 'failure');
  assert.deepEqual([failure.key, failure.pointer, failure.raw.toString()], ['12', '', row]);
  assert.match(failure.reason, /^a value of \d+ bytes; the topic accepts at most \d+$/);
});

test('two pages decoded at the same time do not mix', async () => {
  let looks = 0;
  // Each look at this clock is long after the one before.
  const decoder = instrumentDecoder({ clock: { monotonicMs: () => 1_000 * looks++ } });
  const page = (name: string) =>
    chunked(`{"instruments":[${Array.from({ length: 50 }, (_, id) => `{"id":${id},"name":"${name}","${name}":1}`)}]}`);
  const pages = await Promise.all(['aa', 'bb'].map((name) => decoder.decode(page(name))));
  for (const [index, name] of ['aa', 'bb'].entries()) {
    const rows = pages[index]?.rows ?? [];
    assert.equal(rows.length, 50);
    for (const record of rows.map(readRow)) {
      assert.deepEqual([record.name, record.extras], [name, { [`/${name}`]: '1' }]);
    }
  }
});
