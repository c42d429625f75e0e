import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { test } from 'node:test';
import { describeError } from '../../../src/cli/describe-error.ts';
import { ConnectorError, ERROR_CODES } from '../../../src/errors.ts';
import { createRedaction } from '../../../src/observability/redaction.ts';

test('a ConnectorError is its code, its message and what to do', () => {
  const error = new ConnectorError('TOPIC_MISSING', 'Topics are missing:\nkafka-topics.sh --create');
  const text = describeError(error, createRedaction());
  assert.equal(
    text,
    `TOPIC_MISSING: Topics are missing:\nkafka-topics.sh --create\n${ERROR_CODES.TOPIC_MISSING.remedy}\n`,
  );
});

test('an error that nobody expected shows where it comes from', () => {
  assert.match(
    describeError(new TypeError('x is no function'), createRedaction()),
    /^TypeError: x is no function\n +at /,
  );
  assert.equal(describeError('a text', createRedaction()), 'a text\n');
});

test('what the system refuses is one sentence', async () => {
  const refused = await mkdir(import.meta.filename, { recursive: true }).catch((error: unknown) => error);
  assert.match(describeError(refused, createRedaction()), /^EEXIST: file already exists, mkdir '[^'\n]+'\n$/);
});

test('secrets and what leads a terminal are taken out', () => {
  const redaction = createRedaction();
  redaction.register('canary-secret');
  const text = describeError(new ConnectorError('TOKEN_FAILED', 'no canary-secret\u001b[2J\r\u202e here'), redaction);
  assert.match(text, /^TOKEN_FAILED: no \[redacted\] \[2J {3}here\n/);
});
