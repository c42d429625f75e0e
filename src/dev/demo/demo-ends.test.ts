import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keptLog } from '../../../test/unit/observe/log-lines.ts';
import { ConnectorError } from '../../errors.ts';
import { announceEnd, demoLog } from './demo.ts';

test('an interrupted demo says that it stops and, when all parts are closed, that it has stopped', async () => {
  const printed: string[] = [];
  const line = { print: (text: string) => void printed.push(text) };
  const stop = new AbortController();
  const cleanUp = new AsyncDisposableStack();
  announceEnd(stop.signal, line, cleanUp);
  cleanUp.defer(() => void printed.push('closed'));
  stop.abort();
  await cleanUp.disposeAsync();
  assert.deepEqual(printed, ['Stopping. This takes some seconds …', 'closed', 'Stopped.']);
  const ends = new AsyncDisposableStack();
  announceEnd(new AbortController().signal, line, ends);
  await ends.disposeAsync();
  assert.equal(printed.length, 3, 'a demo that ends by itself prints no such lines');
});

test('the demo prints no line about a lost writer; it prints any other failure as a line for people', async () => {
  const { log, lines } = keptLog({ format: 'text' });
  const events = demoLog(log);
  const err = new ConnectorError('TRANSACTION_FAILED', 'It failed.', { fields: { transactionalId: 'a-1' } });
  events.writerLost({ partition: 1, err });
  events.partitionWriterLost({ topic: 't', partition: 1, err });
  events.attemptFailed({ source: 's', failures: 1, waitMs: 5, err });
  assert.equal(lines.length, 1);
  assert.match(
    lines[0] ?? '',
    /err=TRANSACTION_FAILED: It failed\. transactionalId=a-1$|TRANSACTION_FAILED: It failed\. transactionalId=a-1/,
  );
});
