import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type InstrumentsOffset,
  readInstrumentsOffset,
  writeInstrumentsOffset,
} from '../../../../src/connector/tasks/instruments-offset.ts';

const offset: InstrumentsOffset = {
  filter: 'scope=all',
  since: '1-2',
  serverDateMs: 1_700_000_000_000,
  serverDateFrom: 'provider',
  walk: 3,
  walkStartedAtMs: 1_699_999_000_000,
  walkPending: true,
  walkCursor: '9007199254740993',
  walkPages: 2,
  walkRows: 2_000,
  walkDeadLetters: 1,
};

test('an offset comes back as it was written, through JSON too', () => {
  const raw = JSON.parse(JSON.stringify(writeInstrumentsOffset(offset)));
  assert.deepEqual(readInstrumentsOffset(raw, 'instruments', 'scope=all'), offset);
});

test('the written map is flat and of primitives, as the tools of Kafka Connect expect', () => {
  for (const value of Object.values(writeInstrumentsOffset(offset))) {
    assert.ok(value === null || ['string', 'number', 'boolean'].includes(typeof value));
  }
});

test('a changed filter stops the source and names both filters', () => {
  assert.throws(() => readInstrumentsOffset(writeInstrumentsOffset(offset), 'instruments', 'scope=my'), {
    code: 'FILTER_CHANGED',
    message: /"scope=my".*"scope=all"/,
  });
});

for (const [field, value] of Object.entries({
  version: 2,
  since: 5,
  serverDate: 'yesterday',
  walk: -1,
  walkPending: 'yes',
  walkCursor: 12,
  walkRows: 1.5,
})) {
  test(`an offset with an unusable ${field} is refused by name, not guessed at`, () => {
    const raw = { ...writeInstrumentsOffset(offset), [field]: value };
    assert.throws(() => readInstrumentsOffset(raw, 'instruments', 'scope=all'), {
      code: 'OFFSET_UNREADABLE',
      message: new RegExp(field),
    });
  });
}
