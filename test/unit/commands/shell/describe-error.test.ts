import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeError } from '../../../../src/commands/shell/describe-error.ts';
import { ConnectorError, ERROR_CODES } from '../../../../src/errors.ts';
import { transactionHangs } from '../../../../src/kafka/kafkajs/kafkajs-hanging.ts';
import { createRedaction } from '../../../../src/observe/redaction.ts';
import { NO_PROBLEM, refusedResponse, unanswered } from '../../../../src/provider/http/response-error.ts';

test('secrets and what leads a terminal are taken out', () => {
  const redaction = createRedaction();
  redaction.register('canary-secret');
  const text = describeError(new ConnectorError('TOKEN_FAILED', 'no canary-secret\u001b[2J\r\u202e here'), redaction);
  assert.match(text, /^TOKEN_FAILED: no \[redacted\] \[2J {3}here\n/);
});

test('a command does not say that a request is repeated', () => {
  const text = describeError(new ConnectorError('PROVIDER_BUSY', 'It was answered with 500.'), createRedaction());
  assert.match(text, /500\.\nRun the command again later\. If it fails for long, ask the provider\.\n$/);
});

test('what to do is said once: a message that says it itself is not followed by the general advice', () => {
  const advising = [
    unanswered(new Error('no'), 'GET /v1/instruments of referenceData', 'referenceData'),
    unanswered(Object.assign(new Error('no'), { code: 'CERT_HAS_EXPIRED' }), 'GET /v1 of marketData', 'marketData'),
    ...(['PROVIDER_UNAUTHORIZED', 'PROVIDER_REDIRECT'] as const).map((code) =>
      refusedResponse(code, {
        from: 'GET /v1/instruments of referenceData',
        endpoint: '/v1/instruments',
        status: 401,
        headers: {},
        problem: NO_PROBLEM,
        wallMs: 0,
        name: 'referenceData',
        login: 'referenceData.auth',
      }),
    ),
    new ConnectorError('BODY_TOO_LARGE', 'The body has more than 1 byte; ask for less, or raise maxBodyBytes.'),
    new ConnectorError('KAFKA_UNREACHABLE', 'The writer could not be opened. Check kafka.brokers and the network.'),
    new ConnectorError('WRITER_REFUSED', 'Kafka refuses it. Give the connector its rights.'),
    transactionHangs('offsets', [3], 900_000),
  ];
  for (const error of advising)
    assert.equal(describeError(error, createRedaction()), `${error.code}: ${error.message}\n`);
  const bare = new ConnectorError('PROVIDER_TIMEOUT', 'No response within 30 s of the check of the set.');
  const expected = `PROVIDER_TIMEOUT: ${bare.message}\n${ERROR_CODES.PROVIDER_TIMEOUT.remedy}\n`;
  assert.equal(describeError(bare, createRedaction()), expected);
});
