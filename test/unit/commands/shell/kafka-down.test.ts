import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingsFile } from '../../../support/connectors/settings-file.ts';
import { runWith } from './terminal.ts';

/** Nothing listens there. */
const NOWHERE = '127.0.0.1:1';

test('with Kafka down a command says that it does not answer, at which address, and where that is set', async (t) => {
  const text = `referenceData: { url: 'http://127.0.0.1:1', auth: { type: none } }
kafka: { brokers: ['${NOWHERE}'] }
schemaRegistry: { url: 'http://127.0.0.1:1' }
sources: [{ name: instruments, type: instruments }]
`;
  const file = await settingsFile(t, text);
  const { code, stderr } = await runWith(['tail', 'instruments', '--until-end', '--config', file]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^KAFKA_UNREACHABLE: Kafka does not answer at 127\.0\.0\.1:1 \(.*kafka\.brokers \(KAFKA_BROKERS\)/,
  );
});
