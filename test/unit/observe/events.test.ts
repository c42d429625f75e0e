import assert from 'node:assert/strict';
import { test } from 'node:test';
import { logEvents } from '../../../src/observe/event-table.ts';
import type { Events } from '../../../src/observe/events.ts';
import { eventsReport } from '../../../src/sources/tasks/response-report.ts';
import { everyEvent, PAGE } from './every-event.ts';
import { keptLog } from './log-lines.ts';

/** The messages of all events, and the sum that the end reports. */
const MESSAGES = {
  debug: ['schemas registered', 'poll answered', 'stream committed', 'batch priced', 'bulk request answered'],
  info: [
    ['committed during the last minute', 'stopped', 'Kafka answers again', 'admin server listens', 'topic created'],
    ['source started', 'source paused', 'source resumed', 'source stopped by an operator'],
    ['walk started', 'walk resumed', 'walk completed', 'page committed', 'instruments deleted'],
    ['partition assigned', 'partition lost', 'writer opened', 'joined the replicas'],
    ['price processor joined its group', 'price processor started', 'size limit of bulk requests learnt'],
    ['price processor paused or stopped by an operator', 'instruments are read again'],
  ].flat(),
  warn: [
    ['topic differs from the plan', 'notification written', 'attempt failed, trying again', 'Kafka does not answer'],
    ['stream response discarded, requesting it again', 'writer lost, opening again'],
    ['value of the states topic ignored', 'records that cannot be read', 'writer of a partition lost, opening again'],
    ['bulk request divided, requesting its parts', 'bulk request failed, trying again'],
    [
      'windows of prices were not requested',
      'price processor failed, trying again',
      'instruments cannot be read, trying again',
    ],
  ].flat(),
  error: ['source failed, an operator is needed', 'price processor failed, an operator is needed'],
};

test('each event is one line with a fixed message and a fitting level', () => {
  const { log, parsed } = keptLog({ level: 'debug' });
  const events = logEvents(log, () => {});
  let emitted = 0;
  const emit = (name: string | symbol) => (event: never) => {
    emitted += 1;
    events[name as keyof Events](event);
  };
  everyEvent(new Proxy(events, { get: (_, name) => emit(name) }));
  assert.equal(parsed().length, emitted + 1, 'the end reports the sum of what was committed');
  const byLevel = Map.groupBy(parsed(), ({ level }) => level);
  const messages = (level: string) => new Set(byLevel.get(level)?.map(({ msg }) => msg));
  for (const [level, texts] of Object.entries(MESSAGES)) {
    assert.deepEqual([...messages(level)].sort(), [...texts].sort());
  }
  assert.deepEqual([...byLevel.keys()].sort(), Object.keys(MESSAGES).sort());
});

test('a line has the fields of its event: what is 0, and what the page alone shows, is left out', () => {
  const { log, parsed } = keptLog({ level: 'debug' });
  everyEvent(logEvents(log, () => {}));
  const fieldsOf = (message: string) => {
    const { level: _, time: __, msg: ___, ...fields } = parsed().find(({ msg }) => msg === message);
    return fields;
  };
  const { deadLettersTooLarge: _, ...notZero } = PAGE;
  assert.deepEqual(fieldsOf('page committed'), notZero);
  assert.equal('events' in fieldsOf('stream committed'), false);
  const { stack: ____, fields: _____, ...err } = fieldsOf('attempt failed, trying again').err;
  const [message, code] = ['canary-message', 'REGISTRY_UNREACHABLE'];
  assert.deepEqual(err, { type: 'ConnectorError', message, code, action: 'retry' });
});

test('a duration is in whole milliseconds', () => {
  const { log, parsed } = keptLog({ level: 'debug' });
  const place = { source: 'a', since: null, secondsToRetentionCliff: null, rows: 0, caughtUp: true };
  logEvents(log).polled({ ...place, endpoint: 'events', durationMs: 1.4 });
  assert.equal(parsed()[0].durationMs, 1);
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
  const fields = parsed().map(({ time: _, ...fields }) => fields);
  assert.deepEqual(fields, [{ level: 'warn', ...priced, msg: 'dead letter' }]);
});

test('events that come often are one line a minute for each source, and none while none comes', async () => {
  const { log, parsed } = keptLog();
  const timers: { readonly ms: number; readonly action: () => void }[] = [];
  const events = logEvents(log, (ms, action) => timers.push({ ms, action }));
  const dead = { deadLetters: 0, deadLettersTooLarge: 0, deadLettersWithoutKey: 0 };
  const counts = { ...dead, drift: 0, roundedNumbers: 0, duplicateKeys: 0 };
  const response = { record: 'event', ...counts, since: '5-1', commitMs: 3 };
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
