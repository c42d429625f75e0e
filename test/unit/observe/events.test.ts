import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectorError } from '../../../src/errors.ts';
import { logEvents } from '../../../src/observe/event-table.ts';
import { eventsReport } from '../../../src/sources/tasks/response-report.ts';
import { keptLog } from './log-lines.ts';

test('each event is one line with a fixed message, its fields and a fitting level', async () => {
  const { log, parsed } = keptLog({ level: 'debug' });
  const events = logEvents(log);
  const err = new ConnectorError('PROVIDER_BUSY', 'busy');
  const source = 'instruments';
  const page = {
    source,
    page: 1,
    rows: 3,
    records: 1,
    unchanged: 0,
    deadLetters: 1,
    deadLettersTooLarge: 1,
    deadLettersWithoutKey: 0,
    repeatedRows: 1,
    drift: 2,
    roundedNumbers: 0,
    duplicateKeys: 0,
    jsonBytes: 9,
    fetchMs: 7,
    commitMs: 8,
    cursor: '4',
  };
  events.topicCreated({ topic: 'a.instruments' });
  events.topicDrift({ drift: 'a.instruments has retention.ms 1' });
  events.replicaJoined({ partitions: [3], sources: [source] });
  events.writerOpened({ partition: 3, transactionalId: 'a-sources-3', durationMs: 12 });
  events.walkStarted({ source, walk: 1, since: '5-0', why: 'first', waitMs: 0 });
  events.walkResumed({ source, walk: 1, pages: 2, cursor: '2001', waitMs: 0 });
  events.pageCommitted(page);
  const counts = { added: 4, corrected: 1, unchanged: 1, reEncoded: 0, gone: 1, deadLetters: 1 };
  events.walkCompleted({ source, walk: 1, resumed: false, pages: 3, rows: 9, ...counts, durationMs: 100 });
  const shown = [{ type: 'newissue', name: 'a note', isin: null, id: '1' }];
  const dead = { deadLetters: 1, deadLettersTooLarge: 0, deadLettersWithoutKey: 1 };
  const counted = { ...dead, drift: 0, roundedNumbers: 0, duplicateKeys: 0 };
  events.streamCommitted({
    source,
    record: 'event',
    items: 1,
    ...counted,
    since: '5-1',
    commitMs: 3,
    events: shown,
  });
  events.instrumentsDeleted({ source, why: 'walk', instruments: 3 });
  events.responseDiscarded({ source, why: 'lower' });
  events.notified({ source, kind: 'shrinkRefused', text: 'Far fewer.' });
  events.attemptFailed({ source, failures: 2, waitMs: 500, err });
  events.writerLost({ partition: 3, err });
  events.sourceFailed({ source, err });
  events.streamCommitted({ source, record: 'check', items: 2, ...counted, since: 'abc', commitMs: 3 });
  events.sourceStarted({ source, since: '5-1', secondsToRetentionCliff: 604_800 });
  events.stopped({ reason: 'SIGTERM', cpuSeconds: 1.5, peakMemoryBytes: 100 });
  assert.deepEqual(
    parsed().map(({ level, msg }) => `${level} ${msg}`),
    [
      'info topic created',
      'warn topic differs from what would be created',
      'info joined the replicas',
      'info writer opened',
      'info walk started',
      'info walk resumed',
      'info page committed',
      'info walk completed',
      'debug stream committed',
      'info instruments deleted',
      'warn response of the stream discarded, asking again',
      'warn notification written',
      'warn attempt failed, trying again',
      'warn writer lost, opening again',
      'error source failed, an operator is needed',
      'debug stream committed',
      'info source started',
      'info committed within a minute',
      'info stopped',
    ],
  );
  const { level: _, time: __, msg: ___, ...fields } = parsed()[6];
  const { unchanged: _u, deadLettersWithoutKey: _k, roundedNumbers: _r, duplicateKeys: _d, ...notZero } = page;
  assert.deepEqual(fields, notZero, 'what is 0 is left out');
  assert.equal('events' in parsed()[8], false);
  const { stack: ____, ...failed } = parsed()[12].err;
  assert.deepEqual(failed, {
    type: 'ConnectorError',
    message: 'busy',
    code: 'PROVIDER_BUSY',
    action: 'retry',
  });
});

test('polls are reported to each part that counts them, and logged at debug only', async () => {
  const poll = { source: 'a', since: null, secondsToRetentionCliff: null, rows: 0, caughtUp: true, durationMs: 1.4 };
  for (const [level, expected] of [
    ['info', []],
    ['debug', ['debug poll answered 1']],
  ] as const) {
    const { log, parsed } = keptLog({ level });
    logEvents(log).polled({ ...poll, endpoint: 'events' });
    assert.deepEqual(
      parsed().map((line) => `${line.level} ${line.msg} ${line.durationMs}`),
      expected,
    );
  }
});

const DEAD = { key: '7', pointer: '/issuePrice', reason: 'is no number' };

test('a dead letter is a warning of its own, with its key and the reason, up to twenty of a response', async () => {
  const { log, parsed } = keptLog();
  const rows = Array.from({ length: 30 }, () => ({ ...DEAD, kind: 'failure' }));
  const answer = { decoded: { rows, duplicateKeys: 0 }, next: '5-1' } as never;
  logEvents(log, () => {}).streamCommitted(eventsReport('a', answer, 3));
  const lines = parsed().map(({ time: _, ...fields }) => fields);
  assert.equal(lines.length, 20);
  assert.deepEqual(lines[0], { level: 'warn', source: 'a', ...DEAD, msg: 'dead letter' });
});

test('a dead letter of prices is such a warning too, with the kind of price', async () => {
  const { log, parsed } = keptLog();
  const priced = { source: 'prices', kind: 'overview', ...DEAD };
  logEvents(log, () => {}).batchPriced({ kind: 'overview', deadLetters: 2, dead: [priced] } as never);
  assert.deepEqual(
    parsed().map(({ time: _, ...fields }) => fields),
    [{ level: 'warn', ...priced, msg: 'dead letter' }],
  );
});

test('events that come often are one line a minute for each source, and none while none comes', async () => {
  const { log, parsed } = keptLog();
  const timers: { readonly ms: number; readonly action: () => void }[] = [];
  const events = logEvents(log, (ms, action) => timers.push({ ms, action }));
  const dead = { deadLetters: 0, deadLettersTooLarge: 0, deadLettersWithoutKey: 0 };
  const response = {
    record: 'event',
    ...dead,
    drift: 0,
    roundedNumbers: 0,
    duplicateKeys: 0,
    since: '5-1',
    commitMs: 3,
  };
  for (let n = 0; n < 220; n++) events.streamCommitted({ source: 'a', items: 2, ...response });
  events.streamCommitted({ source: 'b', items: 5, ...response });
  assert.deepEqual([parsed().length, timers.map(({ ms }) => ms)], [0, [60_000]]);
  timers[0]?.action();
  const lines = () => parsed().map(({ level: _, time: __, msg: ___, ...fields }) => fields);
  assert.deepEqual(lines(), [
    { source: 'a', batches: 220, items: 440, deadLetters: 0 },
    { source: 'b', batches: 1, items: 5, deadLetters: 0 },
  ]);
  events.streamCommitted({ source: 'a', items: 1, ...response });
  assert.equal(timers.length, 2);
  events.stopped({ reason: 'SIGTERM', cpuSeconds: 1, peakMemoryBytes: 1 });
  timers[1]?.action();
  assert.deepEqual(lines().slice(2, 3), [{ source: 'a', batches: 1, items: 1, deadLetters: 0 }]);
  assert.equal(lines().length, 4);
});
