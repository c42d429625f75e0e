import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { logProcessorEvents } from '../../../src/observability/event-log.ts';
import type { BatchPriced } from '../../../src/observability/processor-events.ts';
import { keptLog } from './log-lines.ts';

const batch: BatchPriced = {
  topic: 'a.instruments',
  partition: 3,
  kind: 'overview',
  items: 2,
  priced: 1,
  records: 1,
  unchanged: 0,
  problems: 1,
  unusable: 0,
  dropped: 0,
  inputs: 0,
  withoutIsin: 0,
  gone: 0,
  postponed: 0,
  deadLetters: 0,
  tombstones: {},
  calls: 1,
  drift: 0,
  roundedNumbers: 0,
  errorsFlagDiffers: 0,
  askMs: 5.2,
  commitMs: 7.8,
  prices: [{ instrumentId: '1', isin: 'CH0000000001', values: [Buffer.from('value')] }],
};

test('each event of the price processor is one line with a fixed message, its fields and a fitting level', async () => {
  const { log, parsed } = await keptLog({ level: 'debug' });
  const events = logProcessorEvents(log);
  const err = new ConnectorError('PROVIDER_BUSY', 'busy');
  const partition = { topic: 'a.instruments', partition: 3 };
  events.processorStarted({
    groupId: 'a-prices',
    topics: ['a.instruments'],
    kinds: ['overview'],
    freshness: () => assert.fail('a log line asks for nothing'),
  });
  events.partitionAssigned({
    ...partition,
    transactionalId: 't',
    offset: '7',
    instruments: 5,
    isReadAhead: false,
    durationMs: 12,
  });
  events.partitionLost({ ...partition, why: 'another member reads it' });
  events.partitionWriterLost({ ...partition, err });
  events.recordsUnreadable({ ...partition, reason: 'schema', records: 2, firstOffset: '5' });
  events.batchPriced(batch);
  events.batchPriced({ ...batch, inputs: 1 });
  events.batchBisected({ kind: 'overview', items: 500, code: 'PROVIDER_REFUSED', status: 400 });
  events.batchLimitLearnt({ kind: 'overview', maxItems: 125 });
  events.bulkAttemptFailed({ kind: 'overview', items: 500, failures: 2, waitMs: 500, err });
  events.instrumentFailing({ kind: 'overview', instrumentId: '1', problem: 'status 404', failures: 1, nextTryMs: 9 });
  events.processorAttemptFailed({ failures: 1, waitMs: 100, err, isMember: false });
  events.processorFailed({ err });
  assert.deepEqual(
    parsed().map(({ level, msg }) => `${level} ${msg}`),
    [
      'info price processor started',
      'info partition assigned',
      'info partition lost',
      'warn writer of a partition lost, opening again',
      'warn records that cannot be read',
      'debug batch priced',
      'debug batch priced',
      'warn bulk request to be divided, asking for its parts',
      'info largest bulk request learnt',
      'warn bulk request failed, trying again',
      'debug instrument gets no price',
      'warn price processor failed, trying again',
      'error price processor failed, an operator is needed',
    ],
  );
  const { level: _, time: __, msg: ___, ...fields } = parsed()[5];
  const { prices: ____, ...logged } = batch;
  assert.deepEqual(fields, { ...logged, askMs: 5, commitMs: 8 });
});
