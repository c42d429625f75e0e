import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../../src/errors.ts';
import { newestCheckOffset, nextCheckOffset } from '../../../../src/provider/pre-trade-checks.ts';
import { readSchemaText } from '../../../../src/records/avro/schema-files.ts';
import { createCheckDecoder } from '../../../../src/records/decoding/check-decoder.ts';
import { followStream } from '../../../../src/sources/tasks/followed-stream.ts';
import { systemClock } from '../../../../src/support/clock.ts';
import { chunked } from '../../../support/decoding/avro-decoding.ts';

const { signal } = new AbortController();
const UNMAPPABLE = Array.from({ length: 30 }, () => '{"preTradeCheckId":7}');

/** A stream whose every answer holds these checks. */
function streamOf(checks: readonly string[], decoderFails: ConnectorError | null = null) {
  const body = `{"nextId":"9-0","preTradeChecks":[${checks}],"links":{"next":"/v1/pretradechecks?since=9-0"}}`;
  const reported = { date: null };
  const schema = readSchemaText('PreTradeCheck');
  const decoder = createCheckDecoder({ schema, schemaId: 1, onMismatch: 'deadLetter', clock: systemClock });
  return followStream({
    endpoint: '/v1/pretradechecks',
    list: (_, consume) =>
      consume({ ...reported, body: chunked(body), arrived: async () => null, bytes: () => body.length }),
    next: (links) => nextCheckOffset(links, 'http://127.0.0.1'),
    newest: newestCheckOffset,
    async decoder() {
      if (decoderFails !== null) throw decoderFails;
      return decoder;
    },
    maxDeadLetters: 0.05,
    clock: systemClock,
  });
}

test('many checks that do not map stop a source that would write them, but not one that only asks for the end of the stream', async () => {
  const stream = streamOf(UNMAPPABLE);
  await assert.rejects(stream.after('5-0', signal), { code: 'TOO_MANY_DEAD_LETTERS' });
  await assert.rejects(stream.after(null, signal), { code: 'TOO_MANY_DEAD_LETTERS' });
  const { since, newest } = await stream.start(signal);
  assert.deepEqual([since, newest], ['9-0', '9-0']);
});

test('a registry that refuses does not refuse the offset, whatever its status', async () => {
  const error = new ConnectorError('REGISTRY_REFUSED', 'not found', { fields: { status: 404 } });
  await assert.rejects(streamOf([], error).after('5-0', signal), error);
});
