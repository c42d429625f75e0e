import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSchemaText } from '../../../../src/records/avro/schema-files.ts';
import { withoutNulls } from '../../../support/decoding/avro-decoding.ts';
import { decodeEvents, eventDecoder, reader } from '../../../support/decoding/stream-decoding.ts';

test('a decoder is not made of schemas that do not belong together', () => {
  const other = readSchemaText('Instrument').replace('"scale":18', '"scale":17');
  assert.throws(() => eventDecoder({ instrumentSchema: other }), /with the Instrument schema/);
});

test('an event that is no object is a failure, or is kept in extras when that is set', async () => {
  const event = '{"event":"t","instrument":{"id":1}}';
  const [failure] = await decodeEvents([event]);
  assert.ok(failure?.kind === 'failure');
  const { key, pointer, reason } = failure;
  assert.deepEqual([key, pointer, reason], ['1', '/event', 'found a string, expected an object']);
  const [kept] = await decodeEvents([event], { onMismatch: 'keepInExtras' });
  assert.ok(kept?.kind === 'event');
  const record = { id: '1', extras: { '/event': '"t"' }, instrument: { id: '1' } };
  assert.deepEqual(withoutNulls(reader.read(kept.eventValue)), record);
});
